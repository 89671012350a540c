"""Those who answer for models, each behind its own extra. Each keeps `sampling.provider.Provider`."""

"""Settings of hypothesis under schemathesis, which loads this file.

The phase `target` looks for requests that are accepted, and shrinks large bodies for minutes
between two of them. A thousand examples of four routes took an hour of hypothesis with it.
"""

from hypothesis import Phase, settings

settings.register_profile(
    "without-target", phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink]
)
settings.load_profile("without-target")

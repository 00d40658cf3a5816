"""The base classes of scikit-learn, with types.

scikit-learn has no types, and a class derived from untyped ones takes any argument in the eyes of
a type checker, which would then not find a misspelled parameter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:

    class BaseEstimator:  # noqa: D101
        def __getattr__(self, name: str) -> Any: ...  # what ``fit`` sets
        def __getstate__(self) -> dict[str, Any]: ...
        def __setstate__(self, state: Any) -> None: ...
        def __sklearn_clone__(self) -> Any: ...
        def __sklearn_tags__(self) -> Any: ...
        def get_params(self, deep: bool = True) -> dict[str, Any]: ...  # noqa: D102
        def set_params(self, **params: Any) -> Any: ...  # noqa: D102

    class ClassifierMixin:  # noqa: D101
        def __sklearn_tags__(self) -> Any: ...
        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float: ...  # noqa: D102

    class RegressorMixin(ClassifierMixin): ...  # noqa: D101

    class TransformerMixin:  # noqa: D101
        def __sklearn_tags__(self) -> Any: ...
        def fit_transform(self, X: Any, y: Any = None) -> Any: ...  # noqa: D102
        def set_output(self, *, transform: Any = None) -> Any: ...  # noqa: D102

    class ClusterMixin:  # noqa: D101
        def __sklearn_tags__(self) -> Any: ...
        def fit_predict(self, X: Any, y: Any = None) -> Any: ...  # noqa: D102

    class OutlierMixin(ClusterMixin): ...  # noqa: D101

    class MetaEstimatorMixin: ...  # noqa: D101

    class OneToOneFeatureMixin:  # noqa: D101
        def get_feature_names_out(self, input_features: Any = None) -> Any: ...  # noqa: D102

    class ClassNamePrefixFeaturesOutMixin(OneToOneFeatureMixin): ...  # noqa: D101

    # imported from scikit-learn where they are used, as few fits need what they import
    class KNeighborsMixin: ...  # noqa: D101

    class RadiusNeighborsMixin: ...  # noqa: D101

else:
    from sklearn.base import (  # noqa: F401
        BaseEstimator,
        ClassifierMixin,
        ClassNamePrefixFeaturesOutMixin,
        ClusterMixin,
        MetaEstimatorMixin,
        OneToOneFeatureMixin,
        OutlierMixin,
        RegressorMixin,
        TransformerMixin,
    )

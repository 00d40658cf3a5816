# Types of the public names, for editors and type checkers: one import for every entry of HOMES.

from separatrix.cluster.agglomerative import AgglomerativeClustering as AgglomerativeClustering
from separatrix.cluster.kernel_kmeans import KernelKMeans as KernelKMeans
from separatrix.cluster.kmeans import KMeans as KMeans
from separatrix.cluster.kmedoids import KMedoids as KMedoids
from separatrix.cluster.scatter import scatter_decomposition as scatter_decomposition
from separatrix.cluster.silhouette import silhouette as silhouette
from separatrix.conformal.classifier import ConformalClassifier as ConformalClassifier
from separatrix.conformal.regressor import ConformalRegressor as ConformalRegressor
from separatrix.discriminant.basic_linear_classifier import (
    BasicLinearClassifier as BasicLinearClassifier,
)
from separatrix.discriminant.covariance_tests import box_m as box_m, mardia as mardia
from separatrix.discriminant.gaussian_discriminant import (
    GaussianDiscriminant as GaussianDiscriminant,
    NearestMean as NearestMean,
)
from separatrix.discriminant.linear_discriminant import (
    LinearDiscriminantAnalysis as LinearDiscriminantAnalysis,
)
from separatrix.discriminant.regularized_discriminant import (
    RegularizedDiscriminantAnalysis as RegularizedDiscriminantAnalysis,
)
from separatrix.distances.axioms import metric_axioms as metric_axioms
from separatrix.distances.elliptical import (
    Elliptical as Elliptical,
    Mahalanobis as Mahalanobis,
    StandardizedEuclidean as StandardizedEuclidean,
)
from separatrix.distances.exemplars import geometric_median as geometric_median, medoid as medoid
from separatrix.distances.gower import Gower as Gower
from separatrix.distances.kernelized import KernelDistance as KernelDistance
from separatrix.distances.sequences import Edit as Edit, Hamming as Hamming
from separatrix.distances.vectors import (
    Chebyshev as Chebyshev,
    Cosine as Cosine,
    Euclidean as Euclidean,
    Manhattan as Manhattan,
    Minkowski as Minkowski,
    SquaredEuclidean as SquaredEuclidean,
)
from separatrix.estimators.baseline import (
    MeanRegressor as MeanRegressor,
    MostFrequentClassifier as MostFrequentClassifier,
)
from separatrix.estimators.scaling import (
    Center as Center,
    Standardize as Standardize,
    Whiten as Whiten,
    homogeneous as homogeneous,
)
from separatrix.estimators.table_encoder import TableEncoder as TableEncoder
from separatrix.exploration.serve import explore as explore
from separatrix.bayes.predictive import PredictiveDistribution as PredictiveDistribution
from separatrix.bayes.averaging import EvidenceAveraging as EvidenceAveraging
from separatrix.geometry.normal import MultivariateNormal as MultivariateNormal
from separatrix.geometry.separability import (
    linear_separability as linear_separability,
    nearest_hull_points as nearest_hull_points,
    pairwise_separability as pairwise_separability,
)
from separatrix.kernels import (
    Bounded as Bounded,
    Constant as Constant,
    Fixed as Fixed,
    Gaussian as Gaussian,
    GraphKernel as GraphKernel,
    Jaccard as Jaccard,
    Linear as Linear,
    Matern as Matern,
    Periodic as Periodic,
    Polynomial as Polynomial,
    Precomputed as Precomputed,
    RationalQuadratic as RationalQuadratic,
    SetKernel as SetKernel,
    Sigmoid as Sigmoid,
    Spectrum as Spectrum,
    Subsequence as Subsequence,
    SubtreeKernel as SubtreeKernel,
    TreeKernel as TreeKernel,
    White as White,
    kernel_cosine as kernel_cosine,
    kernel_distance as kernel_distance,
)
from separatrix.kernels.mercer import is_mercer as is_mercer
from separatrix.linear.polynomial import PolynomialRegression as PolynomialRegression
from separatrix.linear.total_least_squares import TotalLeastSquares as TotalLeastSquares
from separatrix.logistic.gradient_descent import GradientDescent as GradientDescent
from separatrix.logistic.logistic_path import LogisticPath as LogisticPath
from separatrix.logistic.logistic_regression import LogisticRegression as LogisticRegression
from separatrix.logistic.sigmoid_regression import (
    SigmoidRegressionClassifier as SigmoidRegressionClassifier,
)
from separatrix.messages import InputError as InputError, SeparatrixWarning as SeparatrixWarning
from separatrix.neighbors.k_neighbors import (
    KNeighborsClassifier as KNeighborsClassifier,
    KNeighborsRegressor as KNeighborsRegressor,
)
from separatrix.neighbors.kernel_smoothers import (
    KernelVoteClassifier as KernelVoteClassifier,
    NadarayaWatson as NadarayaWatson,
)
from separatrix.neighbors.nearest_exemplar import NearestExemplar as NearestExemplar
from separatrix.neighbors.nearest_neighbors import NearestNeighbors as NearestNeighbors
from separatrix.neighbors.radius_neighbors import (
    RadiusNeighborsClassifier as RadiusNeighborsClassifier,
    RadiusNeighborsRegressor as RadiusNeighborsRegressor,
)
from separatrix.perceptron.kernel_perceptron import KernelPerceptron as KernelPerceptron
from separatrix.perceptron.perceptron import Perceptron as Perceptron
from separatrix.perceptron.perceptron_regressor import PerceptronRegressor as PerceptronRegressor
from separatrix.probability.calibrated import CalibratedClassifier as CalibratedClassifier
from separatrix.probability.calibrations import (
    IsotonicCalibration as IsotonicCalibration,
    LogisticCalibration as LogisticCalibration,
    PlattCalibration as PlattCalibration,
    TemperatureCalibration as TemperatureCalibration,
)
from separatrix.probability.multiclass import OneVsOne as OneVsOne, OneVsRest as OneVsRest
from separatrix.probability.reject import RejectOption as RejectOption
from separatrix.probability.reliability import (
    brier_score as brier_score,
    expected_calibration_error as expected_calibration_error,
    reliability as reliability,
)
from separatrix.probability.roc import roc_curve as roc_curve
from separatrix.rows.parts import Parts as Parts
from separatrix.rows.rows import Rows as Rows
from separatrix.rows.scan import scan as scan
from separatrix.statistics.estimation import (
    estimate_mean as estimate_mean,
    estimate_normal as estimate_normal,
    estimate_proportions as estimate_proportions,
)
from separatrix.statistics.moments import Moments as Moments
from separatrix.statistics.triangular import TriangularFactor as TriangularFactor
from separatrix.export.export import Export as Export, export_model as export_model
from separatrix.storage import load as load, save as save
from separatrix.verification.verdict import Verification as Verification
from separatrix.verification.verify import verify as verify
from separatrix.study.hyperplane_views import hyperplane_views as hyperplane_views
from separatrix.study.run import run_study as run_study
from separatrix.svm.svc import SVC as SVC
from separatrix.svm.search import LinearSVCSearch as LinearSVCSearch, SVCSearch as SVCSearch
from separatrix.svm.svm_path import SVMPath as SVMPath
from separatrix.svm.svr import SVR as SVR

__version__: str
HOMES: dict[str, str]
__all__: list[str]

# Types of the public names, for editors and type checkers: one import for every entry of HOMES.

from separatrix.cluster.agglomerative import AgglomerativeClustering as AgglomerativeClustering
from separatrix.cluster.dendrogram import Dendrogram as Dendrogram
from separatrix.cluster.kernel_kmeans import KernelKMeans as KernelKMeans
from separatrix.cluster.kmeans import KMeans as KMeans
from separatrix.cluster.kmedoids import KMedoids as KMedoids
from separatrix.cluster.scatter import scatter_decomposition as scatter_decomposition
from separatrix.cluster.silhouette import silhouette as silhouette
from separatrix.conformal.classifier import ConformalClassifier as ConformalClassifier
from separatrix.conformal.coverage import Coverage as Coverage
from separatrix.conformal.regressor import ConformalRegressor as ConformalRegressor
from separatrix.discriminant.basic_linear_classifier import (
    BasicLinearClassifier as BasicLinearClassifier,
)
from separatrix.discriminant.covariance_tests import box_m as box_m, mardia as mardia
from separatrix.discriminant.gaussian_discriminant import (
    GaussianDiscriminant as GaussianDiscriminant,
    NearestMean as NearestMean,
)
from separatrix.discriminant.naive_bayes.gaussian_nb import GaussianNB as GaussianNB
from separatrix.discriminant.linear_discriminant import (
    LinearDiscriminantAnalysis as LinearDiscriminantAnalysis,
)
from separatrix.discriminant.naive_bayes.bernoulli_nb import BernoulliNB as BernoulliNB
from separatrix.discriminant.naive_bayes.complement_nb import ComplementNB as ComplementNB
from separatrix.discriminant.naive_bayes.multinomial_nb import MultinomialNB as MultinomialNB
from separatrix.discriminant.naive_bayes.naive_bayes import NaiveBayes as NaiveBayes
from separatrix.discriminant.quadratic_discriminant import (
    QuadraticDiscriminantAnalysis as QuadraticDiscriminantAnalysis,
)
from separatrix.discriminant.regularized_discriminant import (
    RegularizedDiscriminantAnalysis as RegularizedDiscriminantAnalysis,
)
from separatrix.distances.axioms import metric_axioms as metric_axioms
from separatrix.distances.boolean import (
    BooleanDistance as BooleanDistance,
    JaccardDistance as JaccardDistance,
)
from separatrix.distances.concentration import distance_concentration as distance_concentration
from separatrix.distances.elliptical import (
    Elliptical as Elliptical,
    Mahalanobis as Mahalanobis,
    StandardizedEuclidean as StandardizedEuclidean,
)
from separatrix.distances.exemplars import geometric_median as geometric_median, medoid as medoid
from separatrix.distances.gower import Gower as Gower
from separatrix.distances.kernelized import KernelDistance as KernelDistance
from separatrix.distances.missing import NanEuclidean as NanEuclidean
from separatrix.distances.profiles import (
    BrayCurtis as BrayCurtis,
    Canberra as Canberra,
    Correlation as Correlation,
)
from separatrix.distances.sequences import Edit as Edit, Hamming as Hamming
from separatrix.distances.sphere import Haversine as Haversine
from separatrix.distances.vectors import (
    Chebyshev as Chebyshev,
    Cosine as Cosine,
    Euclidean as Euclidean,
    Manhattan as Manhattan,
    Minkowski as Minkowski,
    SquaredEuclidean as SquaredEuclidean,
)
from separatrix.estimators.averages.model_average import ModelAverage as ModelAverage
from separatrix.estimators.averages.averaged import (
    AveragedClassifier as AveragedClassifier,
    AveragedRegressor as AveragedRegressor,
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
from separatrix.geometry.kernel_expansion import KernelExpansion as KernelExpansion
from separatrix.bayes.logistic.bayesian_logistic_regression import (
    BayesianLogisticRegression as BayesianLogisticRegression,
)
from separatrix.bayes.logistic.comparison import PosteriorComparison as PosteriorComparison
from separatrix.bayes.logistic.samples import LogisticSamples as LogisticSamples
from separatrix.bayes.predictive import PredictiveDistribution as PredictiveDistribution
from separatrix.bayes.averaging import EvidenceAveraging as EvidenceAveraging
from separatrix.bayes.linear.ard_regression import ARDRegression as ARDRegression
from separatrix.bayes.linear.bayesian_ridge import BayesianRidge as BayesianRidge
from separatrix.bayes.linear.bayesian_linear_regression import (
    BayesianLinearRegression as BayesianLinearRegression,
)
from separatrix.bayes.linear.evidence import EvidenceCurve as EvidenceCurve
from separatrix.bayes.process.classifier import (
    GaussianProcessClassifier as GaussianProcessClassifier,
)
from separatrix.bayes.process.regressor import GaussianProcessRegressor as GaussianProcessRegressor
from separatrix.geometry.normal import MultivariateNormal as MultivariateNormal
from separatrix.geometry.separability import (
    linear_separability as linear_separability,
    nearest_hull_points as nearest_hull_points,
    pairwise_separability as pairwise_separability,
)
from separatrix.hypotheses.boolean.functions import BooleanFunctions as BooleanFunctions
from separatrix.hypotheses.classes.base import (
    Hypothesis as Hypothesis,
    HypothesisClass as HypothesisClass,
)
from separatrix.hypotheses.classes.boxes import (
    Boxes as Boxes,
    Intervals as Intervals,
)
from separatrix.hypotheses.classes.interval_unions import (
    UnionsOfIntervals as UnionsOfIntervals,
)
from separatrix.hypotheses.classes.balls import Balls as Balls
from separatrix.hypotheses.classes.hyperplanes import Hyperplanes as Hyperplanes
from separatrix.hypotheses.classes.polygons import (
    ConvexPolygons as ConvexPolygons,
    Triangles as Triangles,
)
from separatrix.hypotheses.classes.predicates import (
    Predicates as Predicates,
)
from separatrix.hypotheses.classes.shattering import (
    Shattering as Shattering,
    shatters as shatters,
)
from separatrix.hypotheses.classes.vc_dimension import (
    VCDimension as VCDimension,
    vc_dimension as vc_dimension,
)
from separatrix.hypotheses.boxes.box_classifier import BoxClassifier as BoxClassifier
from separatrix.hypotheses.boxes.union_of_boxes import UnionOfBoxes as UnionOfBoxes
from separatrix.hypotheses.enclosing.ball_classifier import BallClassifier as BallClassifier
from separatrix.hypotheses.enclosing.ellipsoid_classifier import (
    EllipsoidClassifier as EllipsoidClassifier,
)
from separatrix.selection.theory.pac import (
    SampleSize as SampleSize,
    pac_sample_size as pac_sample_size,
)
from separatrix.selection.theory.pac_simulation import (
    PACSimulation as PACSimulation,
    pac_simulation as pac_simulation,
)
from separatrix.selection.theory.bias_variance import (
    BiasVariance as BiasVariance,
    bias_variance as bias_variance,
)
from separatrix.selection.theory.polynomial_bias_variance import (
    polynomial_bias_variance as polynomial_bias_variance,
)
from separatrix.selection.theory.bootstrap_bias_variance import (
    BootstrapBiasVariance as BootstrapBiasVariance,
    bootstrap_bias_variance as bootstrap_bias_variance,
)
from separatrix.hypotheses.query.active_curve import (
    ActiveCurve as ActiveCurve,
    active_curve as active_curve,
)
from separatrix.hypotheses.query.query import Query as Query, query as query
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
from separatrix.linear.basis import BasisExpansion as BasisExpansion
from separatrix.linear.elastic_net.lasso import ElasticNet as ElasticNet, Lasso as Lasso
from separatrix.linear.elastic_net.lasso_cv import LassoCV as LassoCV
from separatrix.linear.elastic_net.lasso_path import LassoPath as LassoPath
from separatrix.linear.least_squares.least_squares_classifier import (
    LeastSquaresClassifier as LeastSquaresClassifier,
)
from separatrix.linear.least_squares.linear_regression import LinearRegression as LinearRegression
from separatrix.linear.polynomial import PolynomialRegression as PolynomialRegression
from separatrix.linear.ridge.ridge import Ridge as Ridge
from separatrix.linear.ridge.ridge_cv import RidgeCV as RidgeCV
from separatrix.linear.ridge.ridge_path import RidgePath as RidgePath
from separatrix.linear.robust.quantile import (
    LeastAbsoluteRegressor as LeastAbsoluteRegressor,
    QuantileRegressor as QuantileRegressor,
)
from separatrix.linear.robust.regressors import HuberRegressor as HuberRegressor
from separatrix.linear.total_least_squares import TotalLeastSquares as TotalLeastSquares
from separatrix.logistic.gradient_descent import GradientDescent as GradientDescent
from separatrix.logistic.cross_validation.logistic_cv import LogisticCV as LogisticCV
from separatrix.logistic.logistic_path import LogisticPath as LogisticPath
from separatrix.logistic.cross_validation.logistic_regression_cv import (
    LogisticRegressionCV as LogisticRegressionCV,
)
from separatrix.logistic.logistic_regression import LogisticRegression as LogisticRegression
from separatrix.logistic.sigmoid_regression import (
    SigmoidRegressionClassifier as SigmoidRegressionClassifier,
)
from separatrix.messages import InputError as InputError, SeparatrixWarning as SeparatrixWarning
from separatrix.neighbors.graph_transformers import (
    KNeighborsTransformer as KNeighborsTransformer,
    RadiusNeighborsTransformer as RadiusNeighborsTransformer,
)
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
from separatrix.optimize.functions import LogisticLoss as LogisticLoss
from separatrix.optimize.functions import Quadratic as Quadratic
from separatrix.optimize.traced import conjugate_gradient as conjugate_gradient
from separatrix.optimize.traced import newton as newton
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
from separatrix.probability.coverage import coverage_risk as coverage_risk
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
from separatrix.selection.criteria.criteria import criteria as criteria
from separatrix.selection.criteria.table import CriteriaTable as CriteriaTable
from separatrix.selection.curves.curves import learning_curves as learning_curves
from separatrix.selection.curves.result import LearningCurves as LearningCurves
from separatrix.study.curves.run import run_curve as run_curve
from separatrix.export.export import Export as Export, export_model as export_model
from separatrix.storage import load as load, save as save
from separatrix.verification.verdict import Verification as Verification
from separatrix.verification.verify import verify as verify
from separatrix.study.clustering.run import run_clusters as run_clusters
from separatrix.study.hyperplane_views import hyperplane_views as hyperplane_views
from separatrix.study.run import run_study as run_study
from separatrix.svm.linear_svc import LinearSVC as LinearSVC
from separatrix.svm.linear_svr import LinearSVR as LinearSVR
from separatrix.svm.nu.nu_svc import NuSVC as NuSVC
from separatrix.svm.nu.nu_svr import NuSVR as NuSVR
from separatrix.svm.nu.one_class_svm import OneClassSVM as OneClassSVM
from separatrix.svm.svc import SVC as SVC
from separatrix.svm.search import LinearSVCSearch as LinearSVCSearch, SVCSearch as SVCSearch
from separatrix.svm.svm_path import SVMPath as SVMPath
from separatrix.svm.svr import SVR as SVR
from separatrix.svm.svr_search import SVRSearch as SVRSearch

__version__: str
HOMES: dict[str, str]
__all__: list[str]

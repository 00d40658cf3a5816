# Types of the public names, for editors and type checkers: one import for every entry of HOMES.

from separatrix.additive.base import AdditiveSummary as AdditiveSummary
from separatrix.additive.base import AdditiveTerm as AdditiveTerm
from separatrix.additive.base import Curve as Curve
from separatrix.additive.classifier import AdditiveClassifier as AdditiveClassifier
from separatrix.additive.counts import AdditivePoissonRegressor as AdditivePoissonRegressor
from separatrix.additive.regressor import AdditiveRegressor as AdditiveRegressor
from separatrix.bayes.ard_regression import ARDRegression as ARDRegression
from separatrix.bayes.averaging import EvidenceAveraging as EvidenceAveraging
from separatrix.bayes.bayesian_logistic_regression import (
    BayesianLogisticRegression as BayesianLogisticRegression,
)
from separatrix.bayes.bayesian_logistic_regression import PosteriorComparison as PosteriorComparison
from separatrix.bayes.bayesian_ridge import BayesianLinearRegression as BayesianLinearRegression
from separatrix.bayes.bayesian_ridge import BayesianRidge as BayesianRidge
from separatrix.bayes.evidence import EvidenceCurve as EvidenceCurve
from separatrix.bayes.gaussian_process.classifier import (
    GaussianProcessClassifier as GaussianProcessClassifier,
)
from separatrix.bayes.gaussian_process.regressor import (
    GaussianProcessRegressor as GaussianProcessRegressor,
)
from separatrix.bayes.predictive import PredictiveDistribution as PredictiveDistribution
from separatrix.bayes.sampling import LogisticSamples as LogisticSamples
from separatrix.catalogue import register as register
from separatrix.cluster.agglomerative import AgglomerativeClustering as AgglomerativeClustering
from separatrix.cluster.kernel_kmeans import KernelKMeans as KernelKMeans
from separatrix.cluster.kmeans import KMeans as KMeans
from separatrix.cluster.kmedoids import KMedoids as KMedoids
from separatrix.cluster.linkage import Dendrogram as Dendrogram
from separatrix.cluster.scatter import scatter_decomposition as scatter_decomposition
from separatrix.cluster.silhouette import silhouette as silhouette
from separatrix.conformal.base import Coverage as Coverage
from separatrix.conformal.classifier import ConformalClassifier as ConformalClassifier
from separatrix.conformal.regressor import ConformalRegressor as ConformalRegressor
from separatrix.discriminant.basic_linear_classifier import (
    BasicLinearClassifier as BasicLinearClassifier,
)
from separatrix.discriminant.count_naive_bayes import BernoulliNB as BernoulliNB
from separatrix.discriminant.count_naive_bayes import ComplementNB as ComplementNB
from separatrix.discriminant.count_naive_bayes import MultinomialNB as MultinomialNB
from separatrix.discriminant.covariance_tests import box_m as box_m
from separatrix.discriminant.covariance_tests import mardia as mardia
from separatrix.discriminant.gaussian_classifier import GaussianNB as GaussianNB
from separatrix.discriminant.gaussian_discriminant import (
    GaussianDiscriminant as GaussianDiscriminant,
)
from separatrix.discriminant.gaussian_discriminant import NearestMean as NearestMean
from separatrix.discriminant.gaussian_discriminant import (
    RegularizedDiscriminantAnalysis as RegularizedDiscriminantAnalysis,
)
from separatrix.discriminant.linear_discriminant import (
    LinearDiscriminantAnalysis as LinearDiscriminantAnalysis,
)
from separatrix.discriminant.linear_discriminant import (
    QuadraticDiscriminantAnalysis as QuadraticDiscriminantAnalysis,
)
from separatrix.discriminant.naive_bayes import NaiveBayes as NaiveBayes
from separatrix.distances.axioms import distance_concentration as distance_concentration
from separatrix.distances.axioms import metric_axioms as metric_axioms
from separatrix.distances.elliptical import Elliptical as Elliptical
from separatrix.distances.elliptical import Mahalanobis as Mahalanobis
from separatrix.distances.elliptical import StandardizedEuclidean as StandardizedEuclidean
from separatrix.distances.exemplars import geometric_median as geometric_median
from separatrix.distances.exemplars import medoid as medoid
from separatrix.distances.gower import Gower as Gower
from separatrix.distances.gower import NanEuclidean as NanEuclidean
from separatrix.distances.graphs import GraphDistance as GraphDistance
from separatrix.distances.kernelized import KernelDistance as KernelDistance
from separatrix.distances.metrics import BooleanDistance as BooleanDistance
from separatrix.distances.metrics import BrayCurtis as BrayCurtis
from separatrix.distances.metrics import Canberra as Canberra
from separatrix.distances.metrics import Chebyshev as Chebyshev
from separatrix.distances.metrics import Correlation as Correlation
from separatrix.distances.metrics import Cosine as Cosine
from separatrix.distances.metrics import Euclidean as Euclidean
from separatrix.distances.metrics import Haversine as Haversine
from separatrix.distances.metrics import JaccardDistance as JaccardDistance
from separatrix.distances.metrics import Manhattan as Manhattan
from separatrix.distances.metrics import Minkowski as Minkowski
from separatrix.distances.metrics import SquaredEuclidean as SquaredEuclidean
from separatrix.distances.sequences import Edit as Edit
from separatrix.distances.sequences import Hamming as Hamming
from separatrix.estimators.averages import AveragedClassifier as AveragedClassifier
from separatrix.estimators.averages import AveragedRegressor as AveragedRegressor
from separatrix.estimators.averages import ModelAverage as ModelAverage
from separatrix.estimators.baseline import MeanRegressor as MeanRegressor
from separatrix.estimators.baseline import MostFrequentClassifier as MostFrequentClassifier
from separatrix.estimators.extrapolation import ExtrapolationCheck as ExtrapolationCheck
from separatrix.estimators.extrapolation import check_extrapolation as check_extrapolation
from separatrix.estimators.log_target import LogTargetRegressor as LogTargetRegressor
from separatrix.estimators.predict_frame import predict_frame as predict_frame
from separatrix.estimators.transformers import Center as Center
from separatrix.estimators.transformers import Standardize as Standardize
from separatrix.estimators.transformers import TableEncoder as TableEncoder
from separatrix.estimators.transformers import Whiten as Whiten
from separatrix.estimators.transformers import homogeneous as homogeneous
from separatrix.exploration.serve import explore as explore
from separatrix.export.export import Export as Export
from separatrix.export.export import export_model as export_model
from separatrix.geometry.normal import MultivariateNormal as MultivariateNormal
from separatrix.geometry.separability import linear_separability as linear_separability
from separatrix.geometry.separability import nearest_hull_points as nearest_hull_points
from separatrix.geometry.separability import pairwise_separability as pairwise_separability
from separatrix.hypotheses.box_classifier import BoxClassifier as BoxClassifier
from separatrix.hypotheses.box_classifier import UnionOfBoxes as UnionOfBoxes
from separatrix.hypotheses.enclosing import BallClassifier as BallClassifier
from separatrix.hypotheses.enclosing import EllipsoidClassifier as EllipsoidClassifier
from separatrix.hypotheses.generation import GeneratedQuery as GeneratedQuery
from separatrix.hypotheses.generation import generate_query as generate_query
from separatrix.hypotheses.query import ActiveCurve as ActiveCurve
from separatrix.hypotheses.query import Query as Query
from separatrix.hypotheses.query import active_curve as active_curve
from separatrix.hypotheses.query import query as query
from separatrix.kernel_machines.kernel_logistic import (
    KernelLogisticRegression as KernelLogisticRegression,
)
from separatrix.kernel_machines.kernel_logistic import (
    KernelLogisticRegressionCV as KernelLogisticRegressionCV,
)
from separatrix.kernel_machines.kernel_ridge import KernelRidge as KernelRidge
from separatrix.kernel_machines.kernel_ridge import KernelRidgeCV as KernelRidgeCV
from separatrix.kernel_machines.radial_basis import RadialBasisClassifier as RadialBasisClassifier
from separatrix.kernel_machines.radial_basis import RadialBasisRegressor as RadialBasisRegressor
from separatrix.kernel_machines.recursive_feature_machine import (
    LogisticRecursiveFeatureMachine as LogisticRecursiveFeatureMachine,
)
from separatrix.kernel_machines.recursive_feature_machine import (
    RecursiveFeatureMachineClassifier as RecursiveFeatureMachineClassifier,
)
from separatrix.kernel_machines.recursive_feature_machine import (
    RecursiveFeatureMachineRegressor as RecursiveFeatureMachineRegressor,
)
from separatrix.kernels import Bounded as Bounded
from separatrix.kernels import Constant as Constant
from separatrix.kernels import Fixed as Fixed
from separatrix.kernels import Gaussian as Gaussian
from separatrix.kernels import GraphKernel as GraphKernel
from separatrix.kernels import Jaccard as Jaccard
from separatrix.kernels import KernelExpansion as KernelExpansion
from separatrix.kernels import Laplace as Laplace
from separatrix.kernels import Linear as Linear
from separatrix.kernels import Matern as Matern
from separatrix.kernels import Periodic as Periodic
from separatrix.kernels import Polynomial as Polynomial
from separatrix.kernels import Precomputed as Precomputed
from separatrix.kernels import RationalQuadratic as RationalQuadratic
from separatrix.kernels import SetKernel as SetKernel
from separatrix.kernels import Sigmoid as Sigmoid
from separatrix.kernels import Spectrum as Spectrum
from separatrix.kernels import Subsequence as Subsequence
from separatrix.kernels import SubtreeKernel as SubtreeKernel
from separatrix.kernels import TermKernel as TermKernel
from separatrix.kernels import TreeKernel as TreeKernel
from separatrix.kernels import White as White
from separatrix.kernels import kernel_cosine as kernel_cosine
from separatrix.kernels import kernel_distance as kernel_distance
from separatrix.kernels.gradients import (
    average_gradient_outer_product as average_gradient_outer_product,
)
from separatrix.kernels.mercer import is_mercer as is_mercer
from separatrix.linear.huber import HuberRegressor as HuberRegressor
from separatrix.linear.interpolation import PolynomialInterpolation as PolynomialInterpolation
from separatrix.linear.lasso import ElasticNet as ElasticNet
from separatrix.linear.lasso import Lasso as Lasso
from separatrix.linear.lasso import LassoCV as LassoCV
from separatrix.linear.lasso import LassoPath as LassoPath
from separatrix.linear.linear_regression import LeastSquaresClassifier as LeastSquaresClassifier
from separatrix.linear.linear_regression import LinearRegression as LinearRegression
from separatrix.linear.poisson import PoissonRegressor as PoissonRegressor
from separatrix.linear.polynomial import BasisExpansion as BasisExpansion
from separatrix.linear.polynomial import PolynomialRegression as PolynomialRegression
from separatrix.linear.quantile import LeastAbsoluteRegressor as LeastAbsoluteRegressor
from separatrix.linear.quantile import QuantileRegressor as QuantileRegressor
from separatrix.linear.ridge import Ridge as Ridge
from separatrix.linear.ridge import RidgeCV as RidgeCV
from separatrix.linear.ridge import RidgePath as RidgePath
from separatrix.linear.total_least_squares import TotalLeastSquares as TotalLeastSquares
from separatrix.logistic.gradient_descent import GradientDescent as GradientDescent
from separatrix.logistic.logistic_path import LogisticCV as LogisticCV
from separatrix.logistic.logistic_path import LogisticPath as LogisticPath
from separatrix.logistic.logistic_regression import LogisticRegression as LogisticRegression
from separatrix.logistic.logistic_regression_cv import LogisticRegressionCV as LogisticRegressionCV
from separatrix.logistic.sigmoid_regression import (
    SigmoidRegressionClassifier as SigmoidRegressionClassifier,
)
from separatrix.messages import InputError as InputError
from separatrix.messages import SeparatrixWarning as SeparatrixWarning
from separatrix.metric_learning.gradient_outer_product import (
    GradientOuterProductMetric as GradientOuterProductMetric,
)
from separatrix.metric_learning.large_margin import (
    LargeMarginNearestNeighbors as LargeMarginNearestNeighbors,
)
from separatrix.metric_learning.neighborhood_components import (
    NeighborhoodComponentsAnalysis as NeighborhoodComponentsAnalysis,
)
from separatrix.neighbors.density import KernelDensity as KernelDensity
from separatrix.neighbors.density import ParzenClassifier as ParzenClassifier
from separatrix.neighbors.k_neighbors import KNeighborsClassifier as KNeighborsClassifier
from separatrix.neighbors.k_neighbors import KNeighborsRegressor as KNeighborsRegressor
from separatrix.neighbors.kernel_smoothers import KernelVoteClassifier as KernelVoteClassifier
from separatrix.neighbors.kernel_smoothers import NadarayaWatson as NadarayaWatson
from separatrix.neighbors.nearest_exemplar import NearestExemplar as NearestExemplar
from separatrix.neighbors.nearest_neighbors import KNeighborsTransformer as KNeighborsTransformer
from separatrix.neighbors.nearest_neighbors import NearestNeighbors as NearestNeighbors
from separatrix.neighbors.nearest_neighbors import (
    RadiusNeighborsTransformer as RadiusNeighborsTransformer,
)
from separatrix.neighbors.radius_neighbors import (
    RadiusNeighborsClassifier as RadiusNeighborsClassifier,
)
from separatrix.neighbors.radius_neighbors import (
    RadiusNeighborsRegressor as RadiusNeighborsRegressor,
)
from separatrix.optimize.descent import LogisticLoss as LogisticLoss
from separatrix.optimize.descent import Quadratic as Quadratic
from separatrix.optimize.descent import conjugate_gradient as conjugate_gradient
from separatrix.optimize.descent import newton as newton
from separatrix.perceptron.kernel_perceptron import KernelPerceptron as KernelPerceptron
from separatrix.perceptron.perceptron import Perceptron as Perceptron
from separatrix.perceptron.perceptron_regressor import PerceptronRegressor as PerceptronRegressor
from separatrix.probability.calibrations import CalibratedClassifier as CalibratedClassifier
from separatrix.probability.calibrations import IsotonicCalibration as IsotonicCalibration
from separatrix.probability.calibrations import LogisticCalibration as LogisticCalibration
from separatrix.probability.calibrations import PlattCalibration as PlattCalibration
from separatrix.probability.calibrations import TemperatureCalibration as TemperatureCalibration
from separatrix.probability.costs import RejectOption as RejectOption
from separatrix.probability.multiclass import OneVsOne as OneVsOne
from separatrix.probability.multiclass import OneVsRest as OneVsRest
from separatrix.probability.reliability import brier_score as brier_score
from separatrix.probability.reliability import (
    expected_calibration_error as expected_calibration_error,
)
from separatrix.probability.reliability import reliability as reliability
from separatrix.probability.roc import coverage_risk as coverage_risk
from separatrix.probability.roc import roc_curve as roc_curve
from separatrix.rows.parts import Parts as Parts
from separatrix.rows.rows import Rows as Rows
from separatrix.rows.scan import scan as scan
from separatrix.selection.criteria import CriteriaTable as CriteriaTable
from separatrix.selection.criteria import criteria as criteria
from separatrix.selection.curves import LearningCurves as LearningCurves
from separatrix.selection.curves import learning_curves as learning_curves
from separatrix.statistics.estimation import estimate_mean as estimate_mean
from separatrix.statistics.estimation import estimate_normal as estimate_normal
from separatrix.statistics.estimation import estimate_proportions as estimate_proportions
from separatrix.statistics.moments import Moments as Moments
from separatrix.statistics.triangular import TriangularFactor as TriangularFactor
from separatrix.storage import load as load
from separatrix.storage import save as save
from separatrix.study.cluster.run import run_clusters as run_clusters
from separatrix.study.curves import run_curve as run_curve
from separatrix.study.drift import check_drift as check_drift
from separatrix.study.hyperplane_views import hyperplane_views as hyperplane_views
from separatrix.study.pairing import compare_predictions as compare_predictions
from separatrix.study.run import run_study as run_study
from separatrix.svm.linear import LinearSVC as LinearSVC
from separatrix.svm.linear import LinearSVR as LinearSVR
from separatrix.svm.nu import NuSVC as NuSVC
from separatrix.svm.nu import NuSVR as NuSVR
from separatrix.svm.nu import OneClassSVM as OneClassSVM
from separatrix.svm.search import LinearSVCSearch as LinearSVCSearch
from separatrix.svm.search import SVCSearch as SVCSearch
from separatrix.svm.search import SVRSearch as SVRSearch
from separatrix.svm.svc import SVC as SVC
from separatrix.svm.svm_path import SVMPath as SVMPath
from separatrix.svm.svr import SVR as SVR
from separatrix.theory.bias_variance import BiasVariance as BiasVariance
from separatrix.theory.bias_variance import BootstrapBiasVariance as BootstrapBiasVariance
from separatrix.theory.bias_variance import ClassBiasVariance as ClassBiasVariance
from separatrix.theory.bias_variance import bias_variance as bias_variance
from separatrix.theory.bias_variance import bootstrap_bias_variance as bootstrap_bias_variance
from separatrix.theory.bias_variance import (
    bootstrap_class_bias_variance as bootstrap_class_bias_variance,
)
from separatrix.theory.bias_variance import class_bias_variance as class_bias_variance
from separatrix.theory.bias_variance import polynomial_bias_variance as polynomial_bias_variance
from separatrix.theory.boolean import BooleanFunctions as BooleanFunctions
from separatrix.theory.half_spaces import Balls as Balls
from separatrix.theory.half_spaces import Hyperplanes as Hyperplanes
from separatrix.theory.hypothesis_class import Hypothesis as Hypothesis
from separatrix.theory.hypothesis_class import HypothesisClass as HypothesisClass
from separatrix.theory.hypothesis_class import Predicates as Predicates
from separatrix.theory.hypothesis_class import UnionsOfIntervals as UnionsOfIntervals
from separatrix.theory.polygons import Boxes as Boxes
from separatrix.theory.polygons import ConvexPolygons as ConvexPolygons
from separatrix.theory.polygons import Intervals as Intervals
from separatrix.theory.polygons import Triangles as Triangles
from separatrix.theory.vc_dimension import PACSimulation as PACSimulation
from separatrix.theory.vc_dimension import SampleSize as SampleSize
from separatrix.theory.vc_dimension import Shattering as Shattering
from separatrix.theory.vc_dimension import VCDimension as VCDimension
from separatrix.theory.vc_dimension import pac_sample_size as pac_sample_size
from separatrix.theory.vc_dimension import pac_simulation as pac_simulation
from separatrix.theory.vc_dimension import shatters as shatters
from separatrix.theory.vc_dimension import vc_dimension as vc_dimension
from separatrix.verification.verdict import Verification as Verification
from separatrix.verification.verify import verify as verify

__version__: str
HOMES: dict[str, str]
__all__: list[str]

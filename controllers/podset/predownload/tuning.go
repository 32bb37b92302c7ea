package predownload

import (
	"strconv"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/controllers/podset/arithmetic"
)

// TuningOf is what the strategy says, and the annotations where it says nothing. Values that cannot be read count as not
// set. MinUpdatedReady may be a percentage of replicas, rounded up, in the annotation.
func TuningOf(strategy *v1beta1.InPlaceUpdateStrategy, annotations map[string]string, replicas int) Tuning {
	var t Tuning
	if strategy == nil {
		strategy = &v1beta1.InPlaceUpdateStrategy{}
	}
	if t.Parallelism = strategy.ImagePreDownloadParallelism; t.Parallelism == nil {
		t.Parallelism = parallelismOf(annotations[v1beta1.ImagePreDownloadParallelismAnnotation])
	}
	if t.TimeoutSeconds = strategy.ImagePreDownloadTimeoutSeconds; t.TimeoutSeconds == nil {
		if n, err := strconv.ParseInt(annotations[v1beta1.ImagePreDownloadTimeoutSecondsAnnotation], 10, 32); err == nil && n >= 0 {
			seconds := int32(n)
			t.TimeoutSeconds = &seconds
		}
	}
	if n := strategy.ImagePreDownloadMinUpdatedReadyPods; n != nil {
		t.MinUpdatedReady = int(*n)
	} else if text := annotations[v1beta1.ImagePreDownloadMinUpdatedReadyPodsAnnotation]; text != "" {
		value := intstr.Parse(text)
		t.MinUpdatedReady = arithmetic.ResolveOr(&value, intstr.FromInt32(0), replicas, arithmetic.Up)
	}
	return t
}

func parallelismOf(text string) *intstr.IntOrString {
	if text == "" {
		return nil
	}
	value := intstr.Parse(text)
	if _, err := arithmetic.Resolve(value, 1, arithmetic.Up); err != nil {
		return nil
	}
	return &value
}

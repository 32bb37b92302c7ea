package validators_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/webhook/admission"
)

// Whoever sends an object decides how long its lists are. To compare each element with each takes more than a minute of these,
// and a few such requests would take the service from everybody else. Judged they are within two seconds; the rest of the time is for
// machines that do much else.
func TestLongListsAreJudgedInTime(t *testing.T) {
	const length, most = 3000, 10 * time.Second
	listOf := func(length int, element string) string {
		elements := make([]string, length)
		for i := range elements {
			elements[i] = strings.ReplaceAll(element, "@", strconv.Itoa(i))
		}
		return strings.Join(elements, ",")
	}
	list := func(element string) string { return listOf(length, element) }
	// What differs from one version to the next has a # in it. Each object has a megabyte and more.
	env := `"template":{"metadata":{"labels":{"a":"b"}},"spec":{"readinessGates":[{"conditionType":"InPlaceUpdateReady"}],"containers":[{"name":"a","image":"a","env":[` +
		listOf(60_000, `{"name":"@","value":"#"}`) + `]}]}}`
	const selector = `"selector":{"matchLabels":{"a":"b"}}`
	const template = `"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"a","image":"a"}]}}`
	engine := newEngine(t)
	for name, c := range map[string]struct{ kind, version, spec string }{
		"changes in place": {kind: "CloneSet", version: "v1beta1", spec: selector + `,` + env + `,"updateStrategy":{"rollingUpdate":{"podUpdatePolicy":"InPlaceOnly"}}`},
		"changes in place of a StatefulSet": {kind: "StatefulSet", version: "v1beta1",
			spec: selector + `,` + env + `,"updateStrategy":{"rollingUpdate":{"podUpdatePolicy":"InPlaceOnly"}}`},
		"changes of a job":              {kind: "AdvancedCronJob", version: "v1beta1", spec: `"schedule":"@hourly","template":{"jobTemplate":{"spec":{` + env + `}}}`},
		"changes of a DaemonSet":        {kind: "DaemonSet", version: "v1beta1", spec: selector + `,` + env},
		"changes of a UnitedDeployment": {kind: "UnitedDeployment", version: "v1beta1", spec: selector + `,"template":{"deploymentTemplate":{"spec":{` + selector + `,` + env + `}}}`},
		"more than rules go through":    {kind: "SidecarSet", version: "v1beta1", spec: selector + `,"containers":[` + listOf(400_000, `{}`) + `]`},
		"a selector":                    {kind: "SidecarSet", version: "v1beta1", spec: `"selector":{"matchExpressions":[` + listOf(20_000, `{"key":"","operator":""}`) + `]},"containers":[{"name":"a"}]`},
		"scattered terms": {kind: "CloneSet", version: "v1beta1",
			spec: selector + `,` + template + `,"updateStrategy":{"rollingUpdate":{"scatterStrategy":[` + list(`{"key":"k@","value":"v"}`) + `]}}`},
		"Pods named twice": {kind: "CloneSet", version: "v1beta1",
			spec: selector + `,` + template + `,"scaleStrategy":{"podsToDelete":[` + list(`"p@","p@"`) + `]}`},
		"claims": {kind: "CloneSet", version: "v1beta1",
			spec: selector + `,` + template + `,"volumeClaimTemplates":[` + list(`{"metadata":{"name":"c@"}}`) + `]`},
		"containers": {kind: "SidecarSet", version: "v1beta1", spec: selector + `,"containers":[` + list(`{"name":"c@","image":"a"}`) + `]`},
		"terms and patches": {kind: "SidecarSet", version: "v1beta1",
			spec: selector + `,"containers":[{"name":"a","image":"a"}],"updateStrategy":{"scatterStrategy":[` + list(`{"key":"k@","value":"v"}`) +
				`]},"patchPodMetadata":[` + list(`{"annotations":{"a@":"b"}}`) + `]`},
		"subsets": {kind: "UnitedDeployment", version: "v1alpha1",
			spec: selector + `,"topology":{"subsets":[` + list(`{"name":"s@"}`) + `]},"updateStrategy":{"manualUpdate":{"partitions":{` + list(`"s@":0`) + `}}}`},
		"percentages": {kind: "WorkloadSpread", version: "v1beta1",
			spec: `"targetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"a"},"subsets":[` + list(`{"name":"s@","maxReplicas":"0%","patch":{"a":"@"}}`) + `]`},
		"restarted containers": {kind: "ContainerRecreateRequest", version: "v1alpha1", spec: `"podName":"a","containers":[` + list(`{"name":"c@"}`) + `]`},
		"tags":                 {kind: "NodeImage", version: "v1beta1", spec: `"images":{"a":{"tags":[` + list(`{"tag":"t@"}`) + `]}}`},
		"probes": {kind: "PodProbeMarker", version: "v1alpha1",
			spec: selector + `,"probes":[` + list(`{"name":"p@","containerName":"c","podConditionType":"a/b@","markerPolicy":[{"state":"Failed","labels":{"a":"b"}}]}`) + `]`},
	} {
		t.Run(name, func(t *testing.T) {
			object := func(replicas int) []byte {
				return fmt.Appendf(nil, `{"apiVersion":"apps.kruise.io/%s","kind":%q,"metadata":{"name":"a","namespace":"shop","generation":%d,"labels":{"n":"%d"}},"spec":{%s}}`,
					c.version, c.kind, replicas, replicas, strings.ReplaceAll(c.spec, "#", strconv.Itoa(replicas)))
			}
			for _, req := range []*admission.Request{
				{Operation: admission.Create, Name: "a", Namespace: "shop", Object: object(1)},
				{Operation: admission.Update, Name: "a", Namespace: "shop", Object: object(2), OldObject: object(1)},
			} {
				start := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), most)
				response := engine.Handler(schema.GroupKind{Group: "apps.kruise.io", Kind: c.kind}).Handle(ctx, req)
				cancel()
				t.Logf("%s: %s", req.Operation, time.Since(start))
				if response.Status != nil && response.Status.Code >= 500 {
					t.Errorf("%s: %s", req.Operation, response.Status.Message)
				}
			}
		})
	}
}

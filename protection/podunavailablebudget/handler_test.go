package podunavailablebudget

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/webhook/admission"
)

// cluster has one Pod that can be read.
type cluster struct {
	pod *corev1.Pod
	err error
}

func (c cluster) Pod(context.Context, string, string) (jsontext.Value, error) {
	if c.pod == nil || c.err != nil {
		return nil, c.err
	}
	return json.Marshal(c.pod)
}

func raw(t *testing.T, value any) jsontext.Value {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func request(t *testing.T, operation admission.Operation, subresource string, old, object any) *admission.Request {
	t.Helper()
	req := &admission.Request{
		Operation: operation, SubResource: subresource, Namespace: "shop", Name: "web-1",
		Resource: metav1.GroupVersionResource{Version: "v1", Resource: "pods"}, UserInfo: admission.UserInfo{Username: "jane"},
	}
	if old != nil {
		req.OldObject = raw(t, old)
	}
	if object != nil {
		req.Object = raw(t, object)
	}
	return req
}

func eviction(dryRun ...string) map[string]any {
	e := map[string]any{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": map[string]any{"name": "web-1"}}
	if dryRun != nil {
		e["deleteOptions"] = map[string]any{"dryRun": dryRun}
	}
	return e
}

func image(pod *corev1.Pod) { pod.Spec.Containers[0].Image = "web:v2" }

// pod-admission.md §4: which requests cost a unit, and as what.
func TestWhichRequestsCost(t *testing.T) {
	del, evict, update := admission.Delete, admission.Create, admission.Update
	marked := func(p *corev1.Pod) { p.Labels["unavailable-pod.kruise.io/test"] = "" }
	for name, tt := range map[string]struct {
		req  *admission.Request
		want string
	}{
		"delete":                 {request(t, del, "", available(), nil), "disrupted"},
		"delete, no old object":  {request(t, del, "", nil, nil), ""},
		"delete, no budget":      {request(t, del, "", available(func(p *corev1.Pod) { p.Annotations = nil }), nil), ""},
		"delete of a status":     {request(t, del, "status", available(), nil), ""},
		"evict":                  {request(t, evict, "eviction", nil, eviction()), "disrupted"},
		"evict, dry run inside":  {request(t, evict, "eviction", nil, eviction("All")), ""},
		"bind":                   {request(t, evict, "binding", nil, eviction()), ""},
		"create":                 {request(t, evict, "", nil, available()), ""},
		"image":                  {request(t, update, "", available(), available(image)), "unavailable"},
		"metadata":               {request(t, update, "", available(), available(func(p *corev1.Pod) { p.Labels["a"], p.Annotations["b"] = "b", "c" })), ""},
		"marked":                 {request(t, update, "", available(), available(marked)), "unavailable"},
		"marked before":          {request(t, update, "", available(marked), available(marked, image)), ""},
		"status":                 {request(t, update, "status", available(), available(image)), ""},
		"unbound by the update":  {request(t, update, "", available(), available(image, func(p *corev1.Pod) { p.Annotations = nil })), "unavailable"},
		"exempted by the update": {request(t, update, "", available(), available(image, func(p *corev1.Pod) { p.Annotations["pub.kruise.io/no-protect"] = "true" })), "unavailable"},
		"exempted before": {request(t, update, "", available(func(p *corev1.Pod) { p.Annotations["pub.kruise.io/no-protect"] = "true" }),
			available(image)), ""},
		"resize": {request(t, update, "resize", available(), available(cpu("2"))), "unavailable"},
		"a dry run": {func() *admission.Request {
			r := request(t, del, "", available(), nil)
			r.DryRun = true
			return r
		}(), ""},
		"another kind": {func() *admission.Request {
			r := request(t, del, "", available(), nil)
			r.Resource.Group = "metrics.k8s.io"
			return r
		}(), ""},
	} {
		s := &server{budget: budget()}
		h := NewHandler(Admission{Checker: checker(s), Known: NewIndex(), Pods: cluster{pod: available()}, Deletes: true, Updates: true})
		if response := h.Handle(t.Context(), tt.req); !response.Allowed {
			t.Errorf("%s: %+v", name, response.Status)
		}
		got := ""
		if len(s.budget.Status.DisruptedPods) > 0 {
			got += "disrupted"
		}
		if len(s.budget.Status.UnavailablePods) > 0 {
			got += "unavailable"
		}
		if got != tt.want {
			t.Errorf("%s: recorded as %q, want %q", name, got, tt.want)
		}
		off := NewHandler(Admission{Checker: checker(&server{failure: errors.New("asked")}), Known: NewIndex(), Pods: cluster{err: errors.New("asked")}})
		if response := off.Handle(t.Context(), tt.req); !response.Allowed {
			t.Errorf("%s: with the gates off %+v", name, response.Status)
		}
	}
}

func TestADenialIsToldOf(t *testing.T) {
	s := &server{budget: budget(func(b *Budget) { b.Status.UnavailableAllowed = 0 })}
	var told []Denial
	h := NewHandler(Admission{
		Checker: checker(s), Known: NewIndex(), Pods: cluster{pod: available()}, Deletes: true, Updates: true,
		Denied: func(d Denial) { told = append(told, d) },
	})
	dry := request(t, admission.Create, "eviction", nil, eviction("All"))
	for _, req := range []*admission.Request{request(t, admission.Delete, "", available(), nil), dry} {
		response := h.Handle(t.Context(), req)
		if response.Allowed || response.Fault != 0 || response.Status.Code != 403 || !strings.Contains(response.Status.Message, `"web" is forbidden`) {
			t.Errorf("%+v %+v", response, response.Status)
		}
	}
	want := []Denial{{
		Namespace: "shop", Pod: "web-1", UID: "uid-1", OwnerKind: "ReplicaSet", OwnerName: "web", Budget: "web", Operation: Delete,
		User: "jane", Reason: Exhausted, Message: "the budget is exhausted: 3 Pods are available and 2 must be, of 3",
	}}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Error(diff)
	}
	if s.writes != 0 {
		t.Errorf("%d writes", s.writes)
	}
}

func TestErrorsOfLookUps(t *testing.T) {
	away := errors.New("connection refused")
	h := func(s *server, c cluster) admission.Handler {
		return NewHandler(Admission{Checker: checker(s), Known: NewIndex(), Pods: c, Deletes: true, Updates: true})
	}
	for name, tt := range map[string]struct {
		handler     admission.Handler
		req         *admission.Request
		code, fault int
	}{
		"budget":        {h(&server{failure: away}, cluster{}), request(t, admission.Delete, "", available(), nil), 400, 0},
		"Pod":           {h(&server{}, cluster{err: away}), request(t, admission.Create, "eviction", nil, eviction()), 400, 0},
		"no Pod":        {h(&server{}, cluster{}), request(t, admission.Create, "eviction", nil, eviction()), 0, 0},
		"no time":       {h(&server{failure: context.DeadlineExceeded}, cluster{}), request(t, admission.Delete, "", available(), nil), 503, 503},
		"broken":        {h(&server{}, cluster{}), request(t, admission.Delete, "", map[string]any{"metadata": "related-pub"}, nil), 400, 0},
		"broken update": {h(&server{}, cluster{}), request(t, admission.Update, "", map[string]any{"metadata": "related-pub"}, available()), 400, 0},
	} {
		response := tt.handler.Handle(t.Context(), tt.req)
		code := 0
		if response.Status != nil {
			code = int(response.Status.Code)
		}
		if code != tt.code || response.Fault != tt.fault || response.Allowed != (tt.code == 0) {
			t.Errorf("%s: %+v %+v", name, response, response.Status)
		}
	}
}

// What a budget's spec leaves alone is allowed without asking for its status.
func TestWhatIsKnownToBeSparedCostsNoLookUp(t *testing.T) {
	known := NewIndex()
	if err := known.Put(budget(func(b *Budget) { b.Spec.ProtectOperations = []Operation{Evict} })); err != nil {
		t.Fatal(err)
	}
	h := NewHandler(Admission{Checker: checker(&server{failure: errors.New("asked")}), Known: known, Deletes: true, Updates: true})
	if response := h.Handle(t.Context(), request(t, admission.Delete, "", available(), nil)); !response.Allowed {
		t.Errorf("%+v", response.Status)
	}
}

func cpu(value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(value)}
	}
}

// pod-admission.md §4.1.
func TestResizesAreTold(t *testing.T) {
	policy := func(restart corev1.ResourceResizeRestartPolicy) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Containers[0].ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: corev1.ResourceCPU, RestartPolicy: restart}}
		}
	}
	memory := func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources.Requests[corev1.ResourceMemory] = resource.MustParse("1Gi")
	}
	storage := func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources.Requests[corev1.ResourceEphemeralStorage] = resource.MustParse("1Gi")
	}
	guaranteed := func(p *corev1.Pod) {
		r := &p.Spec.Containers[0].Resources
		r.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("1Gi")}
		r.Requests = nil
	}
	type change = []func(*corev1.Pod)
	for name, tt := range map[string]struct {
		old, updated change
		want         Operation
	}{
		"cpu":                  {change{cpu("1")}, change{cpu("2")}, Resize},
		"memory too":           {change{cpu("1")}, change{cpu("2"), memory}, Resize},
		"storage":              {change{cpu("1")}, change{cpu("1"), storage}, Update},
		"restarting":           {change{cpu("1"), policy(corev1.RestartContainer)}, change{cpu("2"), policy(corev1.RestartContainer)}, Update},
		"not restarting":       {change{cpu("1"), policy(corev1.NotRequired)}, change{cpu("2"), policy(corev1.NotRequired)}, Resize},
		"with an image":        {change{cpu("1")}, change{cpu("2"), image}, Update},
		"with a mark":          {change{cpu("1")}, change{cpu("2"), func(p *corev1.Pod) { p.Labels["unavailable-pod.kruise.io/a"] = "" }}, Update},
		"the first resources":  {nil, change{cpu("2")}, Update},
		"from burstable":       {change{cpu("1")}, change{guaranteed}, Update},
		"of a static Pod":      {change{cpu("1"), source("file")}, change{cpu("2"), source("file")}, Update},
		"of one from the API":  {change{cpu("1"), source("api")}, change{cpu("2"), source("api")}, Resize},
		"with another sidecar": {change{cpu("1")}, change{cpu("1"), func(p *corev1.Pod) { p.Spec.Containers = append(p.Spec.Containers, corev1.Container{}) }}, Update},
		"the same, spelt anew": {change{cpu("1")}, change{cpu("1000m")}, Resize},
	} {
		if got := operationOf(available(tt.old...), available(tt.updated...)); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

func source(source string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Annotations["kubernetes.io/config.source"] = source }
}

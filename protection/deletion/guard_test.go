package deletion

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/webhook/admission"
)

const (
	always    = "metadata: {name: o, namespace: shop, uid: u, labels: {policy.kruise.io/delete-protection: Always}}\n"
	cascading = "metadata: {name: o, namespace: shop, labels: {policy.kruise.io/delete-protection: Cascading}}\n"
	ofCluster = "metadata: {name: o, labels: {policy.kruise.io/delete-protection: Cascading}}\n"
	crd       = ofCluster + "spec: {group: x.io, names: {plural: things}, versions: [{name: v1, served: true}, {name: v2, served: true, storage: true}, {name: v3, served: true}]}"
)

var protectable = [][3]string{
	{"v1", "Namespace", "namespaces"},
	{"apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions"},
	{"apiextensions.k8s.io/v1beta1", "CustomResourceDefinition", "customresourcedefinitions"},
	{"apps/v1", "Deployment", "deployments"},
	{"apps/v1", "ReplicaSet", "replicasets"},
	{"apps/v1", "StatefulSet", "statefulsets"},
	{"apps.kruise.io/v1alpha1", "CloneSet", "clonesets"},
	{"apps.kruise.io/v1beta1", "CloneSet", "clonesets"},
	{"apps.kruise.io/v1alpha1", "StatefulSet", "statefulsets"},
	{"apps.kruise.io/v1beta1", "StatefulSet", "statefulsets"},
	{"apps.kruise.io/v1alpha1", "UnitedDeployment", "uniteddeployments"},
	{"apps.kruise.io/v1beta1", "UnitedDeployment", "uniteddeployments"},
	{"v1", "Service", "services"},
	{"networking.k8s.io/v1", "Ingress", "ingresses"},
	{"networking.k8s.io/v1beta1", "Ingress", "ingresses"},
}

var unprotectable = [][3]string{
	{"apps/v1", "DaemonSet", "daemonsets"},
	{"apps.kruise.io/v1beta1", "DaemonSet", "daemonsets"},
	{"batch/v1", "Job", "jobs"},
	{"apps.kruise.io/v1beta1", "BroadcastJob", "broadcastjobs"},
	{"v1", "Pod", "pods"},
	{"v1", "PersistentVolumeClaim", "persistentvolumeclaims"},
	{"apps.kruise.io/v1beta1", "SidecarSet", "sidecarsets"},
}

func TestAlways(t *testing.T) {
	denied := 0
	guard := New(Options{Census: &world{}, Denied: func(Denial) { denied++ }})
	for _, k := range protectable {
		for object, want := range map[string]bool{
			always: false,
			strings.Replace(always, "uid: u", `deletionTimestamp: "2026-01-02T03:04:05Z"`, 1): true,
			strings.Replace(always, "Always", "always", 1):                                    true,
			strings.Replace(always, "labels", "annotations", 1):                               true,
			"metadata: {name: o}": true,
		} {
			response := guard.Handle(t.Context(), deletion(t, k[0], k[1], k[2], object))
			if response.Allowed != want || response.Fault != 0 {
				t.Errorf("%v %s: %+v", k, object, response)
			}
			if !want && response.Status.Code != 403 {
				t.Errorf("%v: %+v", k, response.Status)
			}
		}
	}
	if denied != len(protectable) {
		t.Errorf("%d denials were told", denied)
	}
	for _, k := range unprotectable {
		if response := guard.Handle(t.Context(), deletion(t, k[0], k[1], k[2], always)); !response.Allowed {
			t.Errorf("%v: %+v", k, response.Status)
		}
	}
	response := guard.Handle(t.Context(), deletion(t, "apps/v1", "Deployment", "deployments", always))
	const message = "ResourcesProtectionDeletion: Deployment shop/o is protected by the label policy.kruise.io/delete-protection=Always: it must not be deleted; remove the label to delete it"
	if response.Status.Message != message {
		t.Errorf("message %q", response.Status.Message)
	}
}

func TestCascading(t *testing.T) {
	for name, c := range map[string]struct {
		census  world
		gate    bool
		kind    [3]string
		object  string
		why     string // of the 403, "" when allowed
		counted []string
	}{
		"a workload with replicas":          {world{}, false, protectable[3], cascading + "spec: {replicas: 3}", "=Cascading: replicas 3>0;", nil},
		"a workload with none":              {world{}, false, protectable[3], cascading + "spec: {replicas: 0}", "", nil},
		"replicas unset":                    {world{}, false, protectable[5], cascading + "spec: {}", "", nil},
		"replicas null":                     {world{}, false, protectable[4], cascading + "spec: {replicas: null}", "", nil},
		"no spec":                           {world{}, false, protectable[6], cascading, "", nil},
		"a CloneSet":                        {world{}, false, protectable[6], cascading + "spec: {replicas: 1}", "replicas 1>0", nil},
		"an Advanced StatefulSet":           {world{}, false, protectable[9], cascading + "spec: {replicas: 2}", "replicas 2>0", nil},
		"a UnitedDeployment":                {world{}, false, protectable[10], cascading + "spec: {replicas: 2}", "replicas 2>0", nil},
		"a Service":                         {world{pods: Count{N: 1}}, false, protectable[12], cascading + "spec: {replicas: 1}", "", nil},
		"an Ingress":                        {world{pods: Count{N: 1}}, true, protectable[13], cascading, "", nil},
		"an empty namespace":                {world{}, false, protectable[0], ofCluster, "", []string{"pods o", "claims o"}},
		"Pods":                              {world{pods: Count{N: 2}, claims: Count{N: 1}}, false, protectable[0], ofCluster, "Namespace o is protected by the label policy.kruise.io/delete-protection=Cascading: active pods 2>0;", []string{"pods o"}},
		"more Pods than a page":             {world{pods: Count{N: 500, More: true}}, false, protectable[0], ofCluster, "active pods 500>0 (there may be more)", []string{"pods o"}},
		"claims":                            {world{claims: Count{N: 4}}, false, protectable[0], ofCluster, "Bound pvc 4>0", []string{"pods o", "claims o"}},
		"no answer for a namespace":         {world{fault: errAway}, false, protectable[0], ofCluster, "active pods cannot be counted (the API server is away)", []string{"pods o"}},
		"a definition without the gate":     {world{}, false, protectable[1], crd, "DeletionProtectionForCRDCascadingGate is not enabled", nil},
		"a definition with objects":         {world{objects: Count{N: 1, More: true}}, true, protectable[1], crd, "active CRs 1>0 (there may be more)", []string{"objects x.io/v2, Resource=things"}},
		"a definition without objects":      {world{}, true, protectable[1], crd, "", []string{"objects x.io/v2, Resource=things"}},
		"no answer for a definition":        {world{fault: errAway}, true, protectable[2], crd, "active CRs cannot be counted (the API server is away)", []string{"objects x.io/v2, Resource=things"}},
		"a storage version not served":      {world{}, true, protectable[1], strings.Replace(strings.Replace(crd, "v2, served: true", "v2, served: false", 1), ", {name: v3, served: true}", "", 1), "", []string{"objects x.io/v1, Resource=things"}},
		"a single version":                  {world{}, true, protectable[2], ofCluster + "spec: {group: x.io, version: v7, names: {plural: things}}", "", []string{"objects x.io/v7, Resource=things"}},
		"a definition of nothing":           {world{}, true, protectable[1], ofCluster, "active CRs cannot be counted (spec: expected the names", nil},
		"no version is served":              {world{}, true, protectable[1], ofCluster + "spec: {group: x.io, names: {plural: things}, versions: [{name: v1, served: false, storage: true}]}", "a version that is served", nil},
		"a definition that is being erased": {world{objects: Count{N: 1}}, true, protectable[1], strings.Replace(crd, "name: o", `deletionTimestamp: "2026-01-02T03:04:05Z"`, 1), "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			var told []Denial
			census := c.census
			guard := New(Options{Census: &census, CRDCascading: c.gate, Denied: func(d Denial) { told = append(told, d) }})
			req := deletion(t, c.kind[0], c.kind[1], c.kind[2], c.object)
			response := guard.Handle(t.Context(), req)
			if diff := cmp.Diff(c.counted, census.asked); diff != "" {
				t.Errorf("counted (-want +got):\n%s", diff)
			}
			req.DryRun = true
			if dry := guard.Handle(t.Context(), req); cmp.Diff(response, dry) != "" {
				t.Errorf("a dry run is answered differently: %s", cmp.Diff(response, dry))
			}
			if c.why == "" {
				if !response.Allowed || told != nil {
					t.Errorf("%+v %+v, told %v", response, response.Status, told)
				}
				return
			}
			if response.Allowed || response.Fault != 0 || response.Status.Code != 403 || !strings.Contains(response.Status.Message, c.why) {
				t.Errorf("%+v %+v, want %q", response, response.Status, c.why)
			}
			if len(told) != 1 {
				t.Errorf("told %v, want the one denial that was no dry run", told)
			}
		})
	}
}

func TestWhatADenialSays(t *testing.T) {
	var told Denial
	guard := New(Options{Census: &world{}, Denied: func(d Denial) { told = d }})
	guard.Handle(t.Context(), deletion(t, "apps/v1", "Deployment", "deployments", always))
	want := Denial{
		Kind:      schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"},
		Namespace: "shop", Name: "o", UID: "u", User: "someone", Mode: "Always", Why: "it must not be deleted",
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Error(diff)
	}
}

func TestOtherRequests(t *testing.T) {
	guard := New(Options{Census: &world{}, Denied: func(Denial) { t.Error("denied") }})
	for name, change := range map[string]func(*admission.Request){
		"update":        func(r *admission.Request) { r.Operation = admission.Update },
		"a subresource": func(r *admission.Request) { r.SubResource = "status" },
		"no old object": func(r *admission.Request) { r.OldObject = nil },
	} {
		req := deletion(t, "apps/v1", "Deployment", "deployments", always)
		change(req)
		if response := guard.Handle(t.Context(), req); !response.Allowed {
			t.Errorf("%s: %+v", name, response.Status)
		}
	}
}

func TestUndecodable(t *testing.T) {
	guard := New(Options{Census: &world{}, CRDCascading: true, Denied: func(Denial) { t.Error("denied") }})
	for object, message := range map[string]string{
		"[1]":                               "decoding Deployment: expected an object",
		"metadata: 1":                       "decoding Deployment: metadata: expected an object",
		cascading + "spec: {replicas: a}":   "decoding Deployment: spec.replicas: ",
		cascading + "spec: {replicas: 1.5}": "decoding Deployment: spec.replicas: 1.5",
	} {
		response := guard.Handle(t.Context(), deletion(t, "apps/v1", "Deployment", "deployments", object))
		if response.Allowed || response.Fault != 0 || response.Status.Code != 400 || !strings.HasPrefix(response.Status.Message, message) {
			t.Errorf("%s: %+v %+v", object, response, response.Status)
		}
	}
}

// slow is a census that takes as long as it may.
type slow struct{ world }

func (s *slow) ActivePods(ctx context.Context, _ string) (Count, error) {
	<-ctx.Done()
	return Count{}, ctx.Err()
}

// Under failurePolicy Ignore a denial that comes too late would let the namespace go.
func TestADenialComesInTime(t *testing.T) {
	for timeout, before := range map[time.Duration]time.Duration{4750 * time.Millisecond: 200 * time.Millisecond, 100 * time.Millisecond: 50 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			start := time.Now()
			guard := New(Options{Census: &slow{}, Denied: func(Denial) {}})
			response := guard.Handle(ctx, deletion(t, "v1", "Namespace", "namespaces", ofCluster))
			if response.Allowed || response.Fault != 0 || response.Status.Code != 403 || !strings.Contains(response.Status.Message, "active pods cannot be counted") {
				t.Errorf("%+v %+v", response, response.Status)
			}
			if took := time.Since(start); took != timeout-before {
				t.Errorf("the answer took %s of %s", took, timeout)
			}
		})
	}
}

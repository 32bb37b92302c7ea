package server

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/webhook/admission"
)

// Whatever is sent, the series stay the same: none is named by a sender.
func TestSendersMakeNoSeries(t *testing.T) {
	r := newRig(t, func(_ context.Context, req *admission.Request) admission.Response {
		switch {
		case strings.HasSuffix(req.Name, "1"):
			return admission.Failed(admission.Refuse(http.StatusForbidden, "no %s", req.Name))
		case strings.HasSuffix(req.Name, "2"):
			panic(req.Name)
		case strings.HasSuffix(req.Name, "3"):
			return admission.Patched([]byte(fmt.Sprintf(`[{"op":"add","path":"/x","value":%q}]`, req.Name)))
		}
		return admission.Allow()
	})
	send := func(i int) {
		r.post(t, "/mutate-pod?timeout=5s", fmt.Sprintf(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u-%d",`+
			`"kind":{"group":"g%d.test","version":"v1","kind":"Kind%d"},"resource":{"group":"g%d.test","version":"v1","resource":"r%d"},`+
			`"subResource":"s%d","name":"n%d","namespace":"ns%d","operation":"OP%d","userInfo":{"username":"user%d"},"object":{}}}`, i, i, i, i, i, i, i, i, i, i))
		r.post(t, fmt.Sprintf("/path-%d", i), reviewOf("u-1"))
		r.post(t, "/mutate-pod", fmt.Sprintf("garbage %d", i))
	}
	for i := range 10 {
		send(i)
	}
	before := r.series(t)
	for i := 10; i < 200; i++ {
		send(i)
	}
	if after := r.series(t); after != before {
		t.Errorf("%d series became %d", before, after)
	}
}

// series counts the label sets of all metrics.
func (r *rig) series(t *testing.T) (n int) {
	t.Helper()
	families, err := r.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		n += len(family.GetMetric())
	}
	return n
}

func TestPatchesAreMeasured(t *testing.T) {
	patch := `[{"op":"add","path":"/metadata/labels","value":{"a":"b"}}]`
	r := newRig(t, func(_ context.Context, req *admission.Request) admission.Response {
		if req.UID == "changed" {
			return admission.Patched([]byte(patch))
		}
		return admission.Allow()
	})
	const name = "fairlead_webhook_patch_bytes"
	r.post(t, "/mutate-pod", reviewOf("unchanged"))
	if got := r.metric(t, name, "mpod.kb.io"); got != 0 {
		t.Errorf("%v patches before the first", got)
	}
	for range 3 {
		r.post(t, "/mutate-pod", reviewOf("changed"))
	}
	families, err := r.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		got := family.GetMetric()[0].GetHistogram()
		// 58 bytes each, in the bucket up to 64.
		if got.GetSampleCount() != 3 || got.GetSampleSum() != 174 || got.GetBucket()[0].GetCumulativeCount() != 3 {
			t.Errorf("patches: %v", got)
		}
		return
	}
	t.Error("no patch was measured")
}

// Most reviews take less than a millisecond, and are told apart below it.
func TestBucketsAreFineBelowAMillisecond(t *testing.T) {
	below := 0
	for i, bound := range buckets {
		if i > 0 && bound <= buckets[i-1] {
			t.Errorf("bucket %v follows %v", bound, buckets[i-1])
		}
		if bound < .001 {
			below++
		}
	}
	if last := buckets[len(buckets)-1]; below < 3 || last < 10 {
		t.Errorf("%d buckets below a millisecond, the last ends at %v s, want 3 at least and 10 s", below, last)
	}
}

// What is measured of every review costs no memory.
func TestMeasuringAllocatesNothing(t *testing.T) {
	r := newRig(t, allow)
	patches := r.metrics.patchOf("mpod.kb.io")
	if n := testing.AllocsPerRun(100, func() {
		r.metrics.inFlight.Inc()
		patches().Observe(1000)
		r.metrics.inFlight.Dec()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

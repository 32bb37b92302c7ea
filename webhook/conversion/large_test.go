package conversion

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

// cloneSet is an object of about 15 KiB, with managedFields and a template as real ones have them.
func cloneSet(i int) string {
	env := make([]string, 60)
	for j := range env {
		env[j] = fmt.Sprintf(`{"name":"VARIABLE_%d","value":"a value of some length, as they are in real templates"}`, j)
	}
	fields := make([]string, 90)
	for j := range fields {
		fields[j] = fmt.Sprintf(`"k:{\"name\":\"VARIABLE_%d\"}":{".":{},"f:name":{},"f:value":{}}`, j)
	}
	return fmt.Sprintf(`{"apiVersion":"apps.kruise.io/v1alpha1","kind":"CloneSet","metadata":{"name":"web-%d","namespace":"shop","uid":"u-%d",`+
		`"annotations":{"apps.kruise.io/image-predownload-parallelism":"5"},"managedFields":[{"manager":"m","fieldsV1":{"f:spec":{%s}}}]},`+
		`"spec":{"replicas":3,"scaleStrategy":{"disablePVCReuse":true},"updateStrategy":{"type":"InPlaceIfPossible","partition":"10%%","maxSurge":1},`+
		`"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"web","image":"nginx:1","env":[%s]}]}}},"status":{"replicas":3,"readyReplicas":3}}`,
		i, i, strings.Join(fields, ","), strings.Join(env, ","))
}

// discarding takes an answer and keeps its length only.
type discarding struct {
	header http.Header
	code   int
	bytes  int
}

func (d *discarding) Header() http.Header  { return d.header }
func (d *discarding) WriteHeader(code int) { d.code = code }
func (d *discarding) Write(b []byte) (int, error) {
	d.bytes += len(b)
	return len(b), nil
}

func largeReview(objects int) string {
	list := make([]string, objects)
	for i := range list {
		list[i] = cloneSet(i)
	}
	return reviewOf(V1, "apps.kruise.io/v1beta1", list...)
}

// serveLarge converts a list and returns how long that took, and the most memory that was in use beside the body as it
// came.
func serveLarge(t *testing.T, objects int) (took time.Duration, bodyBytes int, heap uint64) {
	t.Helper()
	body := largeReview(objects)
	h, _ := newHandler(t)
	defer debug.SetGCPercent(debug.SetGCPercent(10)) // so that what waits for the collector hardly counts
	runtime.GC()
	before := inUse()
	stop, peak := make(chan struct{}), make(chan uint64)
	go watchHeap(stop, peak)
	request := httptest.NewRequest(http.MethodPost, Path, strings.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	w := &discarding{header: http.Header{}}
	start := time.Now()
	h.ServeHTTP(w, request)
	took = time.Since(start)
	close(stop)
	if most := <-peak; most > before {
		heap = most - before
	}
	if w.code != http.StatusOK || w.bytes < len(body)/2 {
		t.Fatalf("HTTP %d, %d bytes", w.code, w.bytes)
	}
	runtime.KeepAlive(body)
	return took, len(body), heap
}

func inUse() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func watchHeap(stop <-chan struct{}, peak chan<- uint64) {
	var most uint64
	for {
		most = max(most, inUse())
		select {
		case <-stop:
			peak <- most
			return
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// TestALongListInOneReview: the API server sends a whole page of a list at once. What is in memory beside the review is
// a part of it, and time grows with the list, not with its square.
func TestALongListInOneReview(t *testing.T) {
	few, fewBytes, _ := serveLarge(t, 500)
	took, bodyBytes, heap := serveLarge(t, 5000)
	t.Logf("500 objects, %d MiB: %v; 5000 objects, %d MiB: %v, %d MiB of heap", fewBytes>>20, few, bodyBytes>>20, took, heap>>20)
	if took > 40*few+time.Second {
		t.Errorf("ten times the objects take %v, against %v", took, few)
	}
	// The body, and while its buffer grows for the last time also the half as long one before.
	if heap > 9*uint64(bodyBytes)/4 {
		t.Errorf("%d MiB of heap for a review of %d MiB", heap>>20, bodyBytes>>20)
	}
}

func BenchmarkConvert(b *testing.B) {
	h, _ := newHandler(b)
	body := reviewOf(V1, "apps.kruise.io/v1beta1", cloneSet(1))
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		request := httptest.NewRequest(http.MethodPost, Path, strings.NewReader(body))
		request.Header.Set("Content-Type", "application/json")
		h.ServeHTTP(&discarding{header: http.Header{}}, request)
	}
}

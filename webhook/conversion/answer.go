package conversion

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// spill is how much of an answer is held back, so that a conversion which fails can still be answered without
	// converted objects, as the API says. It is more than all but large lists need; of those a part may be on its way
	// when an object fails, and the API server looks at the result first.
	spill = 1 << 20
	// writeTimeout is the time in which each part of an answer must be taken. The API server reads as fast as it can.
	writeTimeout = 30 * time.Second
)

// answer writes a ConversionReview object by object, so that no more than spill bytes of it are in memory.
type answer struct {
	w       http.ResponseWriter
	head    []byte
	buffer  *[]byte
	objects int
	sent    bool
}

var buffers = sync.Pool{New: func() any { return new([]byte) }}

func newAnswer(w http.ResponseWriter, r *request) *answer {
	a := &answer{w: w, buffer: buffers.Get().(*[]byte)}
	a.head = append(a.head, `{"kind":"`+kindName+`","apiVersion":"`...)
	if r.apiVersion == V1Beta1 {
		a.head = append(a.head, V1Beta1...)
	} else {
		a.head = append(a.head, V1...)
	}
	a.head = appendString(append(a.head, `","response":{"uid":`...), r.uid)
	*a.buffer = append(append((*a.buffer)[:0], a.head...), `,"convertedObjects":[`...)
	return a
}

// add appends a converted object.
func (a *answer) add(object jsontext.Value) {
	if a.objects > 0 {
		*a.buffer = append(*a.buffer, ',')
	}
	a.objects++
	*a.buffer = append(*a.buffer, object...)
	if len(*a.buffer) >= spill {
		a.flush()
	}
}

// succeed ends the answer.
func (a *answer) succeed() {
	*a.buffer = append(*a.buffer, `],"result":{"status":"`+metav1.StatusSuccess+`"}}}`...)
	a.finish(http.StatusOK)
}

// fail ends the answer with an HTTP status and a message for whoever asked the API server. A status other than 200 only
// reaches the client while nothing was sent.
func (a *answer) fail(status int, message string) {
	if a.sent {
		*a.buffer = append(*a.buffer, ']')
	} else {
		*a.buffer = append((*a.buffer)[:0], a.head...)
	}
	*a.buffer = append(*a.buffer, `,"result":{"status":"`+metav1.StatusFailure+`","message":`...)
	*a.buffer = append(appendString(*a.buffer, message), "}}}"...)
	a.finish(status)
}

func (a *answer) finish(status int) {
	if !a.sent {
		a.w.Header().Set("Content-Length", strconv.Itoa(len(*a.buffer)))
		a.header(status)
	}
	a.flush()
	if cap(*a.buffer) <= 2*spill { // a single huge object may have made it larger
		buffers.Put(a.buffer)
	}
	a.buffer = nil
}

func (a *answer) header(status int) {
	a.w.Header().Set("Content-Type", "application/json")
	a.w.Header().Set("X-Content-Type-Options", "nosniff")
	a.w.WriteHeader(status)
	a.sent = true
}

func (a *answer) flush() {
	if !a.sent {
		a.header(http.StatusOK)
	}
	// A connection that cannot set deadlines (a test's recorder) has none to set.
	_ = http.NewResponseController(a.w).SetWriteDeadline(time.Now().Add(writeTimeout))
	_, _ = a.w.Write(*a.buffer) // a client that has gone is no concern of ours
	*a.buffer = (*a.buffer)[:0]
}

// appendString quotes s. Its error only says that invalid UTF-8 became U+FFFD, which is what JSON can carry.
func appendString(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}

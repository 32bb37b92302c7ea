package review

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

const (
	testLimit  = 1 << 20
	testBudget = 4 << 20
)

func TestReadReturnsTheBody(t *testing.T) {
	bodies := NewBodies(testLimit, testBudget)
	rapid.Check(t, func(rt *rapid.T) {
		size := rapid.SampledFrom([]int{0, 1, 511, firstRead - 1, firstRead, firstRead + 1, 3 * firstRead, testLimit - 1, testLimit}).Draw(rt, "size")
		want := bytes.Repeat([]byte("0123456789abcdef"), size/16+1)[:size]
		declared := rapid.SampledFrom([]int64{-1, int64(size), testLimit, 0}).Draw(rt, "declared")
		body, err := bodies.Read(iotest.HalfReader(bytes.NewReader(want)), declared)
		if err != nil {
			rt.Fatal(err)
		}
		if !bytes.Equal(body.Bytes(), want) {
			rt.Fatalf("read %d bytes, want %d", len(body.Bytes()), size)
		}
		body.Release()
	})
	if used := bodies.used.Load(); used != 0 {
		t.Errorf("%d bytes are still accounted for", used)
	}
}

func TestReadRefusesWhatIsTooLarge(t *testing.T) {
	bodies := NewBodies(testLimit, testBudget)
	untouched := iotest.ErrReader(errors.New("the body was read although its declaration is too large"))
	if _, err := bodies.Read(untouched, testLimit+1); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a declared size beyond the limit gives %v", err)
	}
	for _, declared := range []int64{-1, 100} {
		if _, err := bodies.Read(strings.NewReader(strings.Repeat("x", testLimit+1)), declared); !errors.Is(err, ErrTooLarge) {
			t.Errorf("more than the limit, declared as %d, gives %v", declared, err)
		}
	}
	if used := bodies.used.Load(); used != 0 {
		t.Errorf("%d bytes are still accounted for", used)
	}
}

func TestReadReportsABrokenConnection(t *testing.T) {
	bodies := NewBodies(testLimit, testBudget)
	broken := io.MultiReader(strings.NewReader("{"), iotest.ErrReader(io.ErrUnexpectedEOF))
	if _, err := bodies.Read(broken, 100); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error %v", err)
	}
}

func TestDeclaringMuchCostsLittle(t *testing.T) {
	bodies := NewBodies(testLimit, testBudget)
	offered := 0
	source := readerFunc(func(p []byte) (int, error) {
		offered = max(offered, len(p))
		return 0, io.ErrUnexpectedEOF
	})
	if _, err := bodies.Read(source, testLimit); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("error %v", err)
	}
	if offered > firstRead {
		t.Errorf("a declared %d bytes, of which none came, made a buffer of %d", testLimit, offered)
	}
}

func TestTheBudgetIsForLargeBodies(t *testing.T) {
	bodies := NewBodies(testLimit, testLimit+firstRead)
	large := strings.Repeat("x", testLimit)
	first, err := bodies.Read(strings.NewReader(large), testLimit)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bodies.Read(strings.NewReader(large), testLimit); !errors.Is(err, ErrBusy) {
		t.Errorf("a second body of nearly the whole budget gives %v, want ErrBusy", err)
	}
	var small []*Body
	for range 100 {
		body, err := bodies.Read(strings.NewReader(large[:firstRead-1]), firstRead-1)
		if err != nil {
			t.Fatalf("an ordinary body beside a large one: %v", err)
		}
		small = append(small, body)
	}
	for _, body := range small {
		body.Release()
	}
	first.Release()
	second, err := bodies.Read(strings.NewReader(large), testLimit)
	if err != nil {
		t.Fatalf("after the release: %v", err)
	}
	second.Release()
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// Those who dribble their bodies hold a buffer each, so that there must be a last one.
func TestBodiesAtOnceAreBounded(t *testing.T) {
	bodies := NewBodies(testLimit, testBudget)
	held := make([]*Body, maxBodies)
	for i := range held {
		body, err := bodies.Read(strings.NewReader("{}"), 2)
		if err != nil {
			t.Fatalf("body %d: %v", i, err)
		}
		held[i] = body
	}
	if _, err := bodies.Read(strings.NewReader("{}"), 2); !errors.Is(err, ErrBusy) {
		t.Errorf("one more than %d gives %v", maxBodies, err)
	}
	for _, body := range held {
		body.Release()
	}
	body, err := bodies.Read(strings.NewReader("{}"), 2)
	if err != nil {
		t.Fatalf("once they are released: %v", err)
	}
	body.Release()
	if got := bodies.held.Load(); got != 0 {
		t.Errorf("%d bodies are still accounted for", got)
	}
}

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
		size := rapid.SampledFrom([]int{0, 1, 511, firstRead - 1, firstRead, firstRead + 1, 3 * firstRead, pooled, pooled + 1, testLimit - 1, testLimit}).Draw(rt, "size")
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
	source, sender := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if body, err := bodies.Read(source, testLimit); err == nil {
			body.Release()
		}
	}()
	if _, err := sender.Write([]byte("x")); err != nil { // returns when the reader has taken the byte
		t.Fatal(err)
	}
	if used := bodies.used.Load(); used > firstRead {
		t.Errorf("one byte of a declared %d holds %d bytes, want at most %d", testLimit, used, firstRead)
	}
	sender.Close()
	<-done
}

func TestTheBudgetIsShared(t *testing.T) {
	bodies := NewBodies(testLimit, 2*testLimit)
	large := strings.Repeat("x", testLimit)
	first, err := bodies.Read(strings.NewReader(large), testLimit)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bodies.Read(strings.NewReader(large), testLimit); !errors.Is(err, ErrBusy) {
		t.Errorf("a second body of half the budget gives %v, want ErrBusy", err)
	}
	small, err := bodies.Read(strings.NewReader("{}"), 2)
	if err != nil {
		t.Errorf("a small body beside a large one: %v", err)
	}
	small.Release()
	first.Release()
	second, err := bodies.Read(strings.NewReader(large), testLimit)
	if err != nil {
		t.Fatalf("after the release: %v", err)
	}
	second.Release()
}

package bell_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/internal/bell"
)

func TestRingsBeforeTheLoopComesRoundAreOne(t *testing.T) {
	b := bell.New()
	events := b.OnEvents()
	events.OnAdd(nil, false)
	events.OnUpdate(nil, nil)
	events.OnDelete(nil)
	<-b
	select {
	case <-b:
		t.Error("rang twice")
	default:
	}
	b.Ring()
	<-b
}

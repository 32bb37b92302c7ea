package registration

import (
	"sync"
	"time"
)

// lasting is how long something must fail before it is told of beyond the log: rights that are given a moment later, or an API
// server that restarts, are no news.
const lasting = 30 * time.Second

// troubles tells of what goes on failing, once a reason.
type troubles struct {
	tell func(what string, err error)
	now  func() time.Time

	mu    sync.Mutex
	since map[string]time.Time
	told  map[string]string
}

func newTroubles(tell func(what string, err error), now func() time.Time) *troubles {
	if tell == nil {
		tell = func(string, error) {}
	}
	return &troubles{tell: tell, now: now, since: map[string]time.Time{}, told: map[string]string{}}
}

// note takes how an attempt ended.
func (t *troubles) note(what string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		delete(t.since, what)
		delete(t.told, what)
		return
	}
	began, known := t.since[what]
	if !known {
		t.since[what] = t.now()
		return
	}
	if t.now().Sub(began) >= lasting && t.told[what] != err.Error() {
		t.told[what] = err.Error()
		t.tell(what, err)
	}
}

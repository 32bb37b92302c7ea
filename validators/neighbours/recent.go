package neighbours

import "time"

const (
	// remembered is how long an object that was asked about counts before the watch shows it: longer than a watch is behind on a
	// busy API server. What was not created after all costs those who ask for the same a read until then.
	remembered = 30 * time.Second
	// maxRecent bounds what is remembered: 1 MiB. Nobody creates so many in that time that compete for the same.
	maxRecent = 4096
)

// recent has what was asked about a moment ago.
type recent struct {
	table
	// queue is in the order of asking. An object that was asked about again is in it again.
	queue []asked
	last  map[[2]string]time.Time
}

type asked struct {
	namespace, name string
	at              time.Time
}

func (r *recent) note(namespace, name string, own entry, now time.Time) {
	if r.last == nil {
		r.last = make(map[[2]string]time.Time)
	}
	if len(r.queue) >= maxRecent {
		r.drop()
	}
	r.put(namespace, name, own)
	r.queue = append(r.queue, asked{namespace, name, now})
	r.last[[2]string{namespace, name}] = now
}

func (r *recent) forget(namespace, name string) {
	delete(r.last, [2]string{namespace, name})
	r.remove(namespace, name)
}

func (r *recent) expire(now time.Time) {
	for len(r.queue) > 0 && now.Sub(r.queue[0].at) >= remembered {
		r.drop()
	}
}

// drop forgets the oldest, unless it was asked about again.
func (r *recent) drop() {
	oldest := r.queue[0]
	if r.queue = r.queue[1:]; len(r.queue) == 0 {
		r.queue = nil // and the memory before it
	}
	key := [2]string{oldest.namespace, oldest.name}
	if r.last[key].Equal(oldest.at) {
		r.forget(oldest.namespace, oldest.name)
	}
}

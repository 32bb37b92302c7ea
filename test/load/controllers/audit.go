package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// auditPolicy lets the API server log every write but those of the stand-ins for nodes and of leases.
const auditPolicy = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- {level: None, verbs: [get, list, watch]}
- {level: None, users: [kwok, "system:kube-scheduler"]}
- {level: None, resources: [{group: coordination.k8s.io}]}
- {level: Metadata}
`

// managerUserAgent is how the controllers' requests are known.
const managerUserAgent = "kruise-manager"

// auditLog is the API server's record of writes: a request is in it once, whatever became of its answer.
type auditLog struct {
	path   string
	offset int64
}

// write is one request of the controllers that the API server carried out.
type write struct {
	verb, resource, name string
	at                   time.Time
}

// entry is what is read of a line of the log.
type entry struct {
	Verb      string
	UserAgent string
	ObjectRef *struct{ Resource, Subresource, Namespace, Name string }
	// StageTimestamp is when the request was answered.
	StageTimestamp time.Time
	ResponseStatus struct{ Code int }
}

// since reads what was logged after the last call: the controllers' writes in a namespace. Refused ones changed nothing
// and are left out; how many there were comes beside.
func (a *auditLog) since(namespace string) (writes []write, refused map[string]int, err error) {
	file, err := os.Open(a.path)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	if _, err := file.Seek(a.offset, io.SeekStart); err != nil {
		return nil, nil, err
	}
	refused = map[string]int{}
	lines := bufio.NewReader(file)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return writes, refused, nil // a line without an end is still being written
		}
		if err != nil {
			return nil, nil, err
		}
		a.offset += int64(len(line))
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, nil, fmt.Errorf("reading the audit log: %w", err)
		}
		if e.ObjectRef == nil || e.UserAgent != managerUserAgent || e.ObjectRef.Namespace != namespace {
			continue
		}
		done := write{verb: e.Verb, resource: e.ObjectRef.Resource, name: e.ObjectRef.Name, at: e.StageTimestamp}
		if e.ObjectRef.Subresource != "" {
			done.resource += "/" + e.ObjectRef.Subresource
		}
		if e.ResponseStatus.Code >= 400 {
			refused[fmt.Sprintf("%s %s %d", done.verb, done.resource, e.ResponseStatus.Code)]++
			continue
		}
		writes = append(writes, done)
	}
}

// count is how many writes there are of each kind, such as "patch pods/status".
func count(writes []write) map[string]int {
	counts := map[string]int{}
	for _, w := range writes {
		counts[w.verb+" "+w.resource]++
	}
	return counts
}

// rate is how often the statuses of CloneSets were written: the writes after the first in each second since it, and the
// most in any one second.
func rate(writes []write) (perSecond float64, most int) {
	var times []time.Time
	for _, w := range writes {
		if strings.HasPrefix(w.resource, "clonesets/status") {
			times = append(times, w.at)
		}
	}
	for i := range times {
		n := 1
		for _, later := range times[i+1:] {
			if later.Sub(times[i]) < time.Second {
				n++
			}
		}
		most = max(most, n)
	}
	if len(times) > 1 {
		perSecond = float64(len(times)-1) / times[len(times)-1].Sub(times[0]).Seconds()
	}
	return perSecond, most
}

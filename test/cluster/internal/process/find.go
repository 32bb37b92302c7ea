package process

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Find lists the running processes of an owner. Without a name it lists all, otherwise those whose name is
// given or lies below it: "node1" finds "node1/kubelet".
func Find(owner, name string) ([]Proc, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("reading /proc: %w", err)
	}
	var found []Proc
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		env, err := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if err != nil {
			continue // gone, or of another user and so not ours
		}
		p, ok := parseMarks(env, owner)
		if !ok || name != "" && p.Name != name && !strings.HasPrefix(p.Name, name+"/") {
			continue
		}
		p.PID, p.Leader = pid, sessionLeader(pid)
		found = append(found, p)
	}
	return found, nil
}

// parseMarks reads the marks from the content of /proc/PID/environ. A zombie's is empty, so it is not found.
func parseMarks(env []byte, owner string) (Proc, bool) {
	var p Proc
	owned := false
	for _, kv := range bytes.Split(env, []byte{0}) {
		key, value, _ := bytes.Cut(kv, []byte("="))
		switch string(key) {
		case ownerMark:
			owned = string(value) == owner
		case nameMark:
			p.Name = string(value)
		}
	}
	return p, owned
}

// sessionLeader says whether a process is the one that Start began: it leads a session, and what it starts in
// turn does so only when it is a daemon itself (a containerd shim has a process group of its own, no session).
func sessionLeader(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	return parseSession(stat) == pid
}

// parseSession reads the sixth field of /proc/PID/stat. The second is the program's name in brackets and may
// itself hold spaces and brackets, so counting begins after the last one.
func parseSession(stat []byte) int {
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 4 {
		return -1
	}
	session, err := strconv.Atoi(fields[3])
	if err != nil {
		return -1
	}
	return session
}

package ctl

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/logtest"
	"github.com/sluicelb/sluice/core/shm/shmtest"
)

// A client sends its first request right after it connects, and does not repeat it. So its
// connection makes room for another only after this request, or if none comes.
func TestNewConnectionKeepsItsSlot(t *testing.T) {
	p := newPeers(1)
	one, _ := shmtest.Pair(t)
	other, _ := shmtest.Pair(t)
	mine, evicted, ok := p.enter(one, 1)
	if !ok || evicted != nil {
		t.Fatal("there is no place for the first connection")
	}
	mine.since = time.Now().Add(time.Hour) // however slow this machine is
	if _, _, ok := p.enter(other, 2); ok {
		t.Error("a connection was closed before its first request")
	}
	if !p.begin(mine) {
		t.Error("its request is not accepted")
	}
	if _, _, ok := p.enter(other, 2); ok {
		t.Error("a connection with a request in progress was closed")
	}
	p.end(mine)
	its, evicted, ok := p.enter(other, 2)
	if !ok || evicted != mine {
		t.Fatalf("an idle connection keeps its place: %v, %v", evicted, ok)
	}
	if p.begin(mine) {
		t.Error("a request of a closed connection is accepted")
	}
	its.since = time.Now().Add(-freshTime)
	if _, evicted, ok := p.enter(one, 1); !ok || evicted != its {
		t.Errorf("a connection without any request keeps its place: %v, %v", evicted, ok)
	}
}

// A request that was read from a connection that is being closed for another is not executed:
// its client gets no reply and repeats it.
func TestARequestOfAClosedConnectionIsNotExecuted(t *testing.T) {
	var executed atomic.Int32
	s := &server{table: newTable(), allowed: []uint32{uint32(os.Geteuid())}, peers: newPeers(1),
		log:   slog.New(slog.DiscardHandler),
		parts: Parts{OpStacks: About(func(context.Context, struct{}) (string, error) { executed.Add(1); return "", nil })}}
	ours, theirs := shmtest.Pair(t)
	done := make(chan struct{})
	go func() { defer close(done); s.serve(t.Context(), ours) }()
	request, err := json.Marshal(Request{Op: OpStacks, Body: json.RawMessage("{}")})
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, maxReply)
	if _, err := theirs.Write(request); err != nil {
		t.Fatal(err)
	}
	if n, err := theirs.Read(buf); err != nil || executed.Load() != 1 {
		t.Fatalf("the first request: %s, %v", buf[:n], err)
	}
	s.peers.mu.Lock()
	clear(s.peers.all) // as enter does for another connection
	s.peers.mu.Unlock()
	if _, err := theirs.Write(request); err != nil {
		t.Fatal(err)
	}
	if n, err := theirs.Read(buf); err != io.EOF {
		t.Errorf("the second request: %s, %v", buf[:n], err)
	}
	_ = theirs.Close()
	if <-done; executed.Load() != 1 {
		t.Error("the second request was executed")
	}
}

// The log names both processes: the closed connection may be the sign of a fault in its owner.
func TestTheLogNamesTheOwnerOfTheClosedConnection(t *testing.T) {
	log := &logtest.Log{}
	s := &server{allowed: []uint32{uint32(os.Geteuid())}, log: slog.New(slog.NewTextHandler(log, nil)), peers: newPeers(1)}
	idle, _ := shmtest.Pair(t)
	mine, _, _ := s.peers.enter(idle, 4711)
	s.peers.begin(mine)
	s.peers.end(mine)
	ours, theirs := shmtest.Pair(t)
	_ = theirs.Close()
	s.serve(t.Context(), ours)
	if lines := log.Lines("idle the longest"); len(lines) != 1 || !strings.Contains(lines[0], "closed_pid=4711") {
		t.Errorf("log: %s", log)
	}
}

package engine_test

import (
	"context"
	"testing"
	"time"
	"unsafe"

	"github.com/sluicelb/sluice/cmd/role/engine"
	"github.com/sluicelb/sluice/cmd/supervisor"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/snapshot"
)

func TestEachLoopAnswersForItself(t *testing.T) {
	memory := make([]uint64, snapshot.PageSize/8)
	page, err := snapshot.OpenPage(unsafe.Slice((*byte)(unsafe.Pointer(&memory[0])), snapshot.PageSize))
	if err != nil {
		t.Fatal(err)
	}
	var loops []*loop.Loop
	for range 3 {
		l, err := loop.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		go func() { _ = l.Run() }()
		t.Cleanup(l.Stop)
		loops = append(loops, l)
	}
	page.StartEngine(1, len(loops), time.Now())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); engine.Heartbeat(ctx, page, loops) }()
	t.Cleanup(func() { cancel(); <-done })
	answered := func(want int, but ...int) {
		t.Helper()
		for limit := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
			n := 0
			for i := range loops {
				if page.Answered(i) == page.Asked() {
					n++
				}
			}
			if page.Asked() > 0 && n == want {
				break
			}
			if time.Now().After(limit) {
				t.Fatalf("%d loops have answered, want %d", n, want)
			}
		}
		for _, i := range but {
			if page.Answered(i) == page.Asked() {
				t.Errorf("loop %d has answered", i)
			}
		}
	}
	answered(3)
	hold := make(chan struct{})
	loops[1].Post(func() { <-hold })
	for asked := page.Asked(); page.Asked() < asked+2; time.Sleep(time.Millisecond) {
	}
	answered(2, 1)
	close(hold)
	answered(3)
	before, began := page.Asked(), time.Now()
	for page.Asked() == before {
		time.Sleep(time.Millisecond)
	}
	if took := time.Since(began); took > 0 && page.Asked()-before > uint64(took/supervisor.AskEvery)+1 {
		t.Errorf("%d questions to loops in %v", page.Asked()-before, took)
	}
}

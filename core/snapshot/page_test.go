package snapshot_test

import (
	"errors"
	"testing"
	"time"
	"unsafe"

	"github.com/sluicelb/sluice/core/shm"
	"github.com/sluicelb/sluice/core/snapshot"
)

func TestPageSharesGenerationsWithBothSides(t *testing.T) {
	f, err := shm.Shared("control", snapshot.PageSize)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var sides [2]*snapshot.Page
	for i := range sides {
		m, err := shm.MapShared(f, true)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		if sides[i], err = snapshot.OpenPage(m.Bytes()); err != nil {
			t.Fatal(err)
		}
	}
	mgmt, engine := sides[0], sides[1]
	if engine.Asked() != 0 || engine.Loops() != 0 || !engine.StartedAt().IsZero() || engine.EnginePID() != 0 || engine.Published() != 0 {
		t.Error("a new page tells something")
	}
	start := time.Unix(1_700_000_000, 5)
	engine.StartEngine(123, 2, start)
	mgmt.SetPublished(9)
	engine.SetAcknowledged(8)
	engine.SetRefused(9)
	engine.Ask()
	engine.Answer(1)
	engine.Ask()
	if engine.Published() != 9 || mgmt.Acknowledged() != 8 || mgmt.Refused() != 9 {
		t.Errorf("published %d, acknowledged %d, refused %d", engine.Published(), mgmt.Acknowledged(), mgmt.Refused())
	}
	if mgmt.EnginePID() != 123 || !mgmt.StartedAt().Equal(start) {
		t.Errorf("pid %d, started %v", mgmt.EnginePID(), mgmt.StartedAt())
	}
	if mgmt.Loops() != 2 || mgmt.Asked() != 2 || mgmt.Answered(0) != 0 || mgmt.Answered(1) != 1 {
		t.Errorf("%d loops, %d questions, answers %d and %d", mgmt.Loops(), mgmt.Asked(), mgmt.Answered(0), mgmt.Answered(1))
	}
	engine.StartEngine(124, 1000, start)
	if mgmt.Loops() != snapshot.MaxLoops || mgmt.Asked() != 0 || mgmt.Answered(1) != 0 {
		t.Errorf("after a new engine: %d loops, %d questions, answers %d", mgmt.Loops(), mgmt.Asked(), mgmt.Answered(1))
	}
	if mgmt.Published() != 9 || mgmt.Acknowledged() != 0 || mgmt.Refused() != 0 {
		t.Errorf("after a new engine: published %d, acknowledged %d, refused %d", mgmt.Published(), mgmt.Acknowledged(), mgmt.Refused())
	}
}

func TestOpenPageRefusesForeignMemory(t *testing.T) {
	junk := make([]byte, snapshot.PageSize)
	junk[0] = 1
	other := make([]byte, snapshot.PageSize)
	if _, err := snapshot.OpenPage(other); err != nil {
		t.Fatal(err)
	}
	if got := *(*[2]uint64)(unsafe.Pointer(&other[0])); got != [2]uint64{0x534c435452504147, 2} { // other releases identify the page by these
		t.Errorf("it begins with %#x", got)
	}
	other[8] = 99
	for name, mem := range map[string][]byte{"nil": nil, "short": junk[:100], "junk": junk, "other layout": other} {
		if _, err := snapshot.OpenPage(mem); !errors.Is(err, snapshot.ErrPage) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

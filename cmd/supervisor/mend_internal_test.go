package supervisor

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/session"
	"github.com/sluicelb/sluice/core/shm"
)

// An engine can write to all of its memory. Damage must not prevent the next one from
// starting.
func TestOverwrittenHeaderDoesNotStopLaterEngines(t *testing.T) {
	m, err := openMemory()
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	sessions, err := shm.MapShared(m.sessions, true)
	if err != nil {
		t.Fatal(err)
	}
	defer sessions.Close()
	kept, err := session.OpenMemory(sessions.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	session.NewIn(kept, 7, 10).Put([]byte("client"), 1, session.Now())
	var said strings.Builder
	log := slog.New(slog.NewTextHandler(&said, nil))
	m.mend(log, true)
	if kept, err := session.OpenMemory(sessions.Bytes()); err != nil || !kept.HasLeft() || said.Len() > 0 {
		t.Fatalf("memory that is whole is mended: %v, %s", err, said.String())
	}
	for i := range m.begun {
		b := &m.begun[i]
		was := b.header
		for at := range headerSize {
			if _, err := b.file.WriteAt([]byte{^was[at]}, int64(at)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := session.OpenMemory(sessions.Bytes()); !errors.Is(err, session.ErrMemory) {
		t.Fatalf("an overwritten header is accepted: %v", err)
	}
	m.mend(log, false)
	if _, err := session.OpenMemory(sessions.Bytes()); err == nil {
		t.Error("sessions of a running engine are accepted")
	}
	m.mend(log, true)
	kept, err = session.OpenMemory(sessions.Bytes())
	if err != nil || kept.HasLeft() {
		t.Errorf("after it was mended: %v, with sessions %t", err, err == nil && kept.HasLeft())
	}
	for i := range m.begun {
		if mended, err := m.begun[i].mend(); mended || err != nil {
			t.Errorf("%s was not mended: %v", m.begun[i].name, err)
		}
		if !strings.Contains(said.String(), "name="+m.begun[i].name) {
			t.Errorf("no log line about %s:\n%s", m.begun[i].name, said.String())
		}
	}
}

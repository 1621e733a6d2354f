package supervisor

import (
	"fmt"
	"os"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/core/session"
	"github.com/sluicelb/sluice/core/shm"
	"github.com/sluicelb/sluice/core/snapshot"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/core/tlsconf"
)

// memory is the memory shared by the roles. It belongs to the supervisor, so counters,
// health, sessions, TLS ticket keys and unread records outlive every role.
type memory struct {
	page, health, stats, records, sessions, tickets *os.File
	// kinds are the kinds of sockets that netd may give the engine.
	kinds *os.File
	// control is the supervisor's view of the page, in mapped.
	control *snapshot.Page
	mapped  *shm.Mapping
	// begun holds the headers of segments that roles refuse if changed.
	begun []begun
	// wake is the event by which the engine wakes the reader of records.
	wake *os.File
	// Read-only descriptors.
	statsReader, healthReader, kindsReader *os.File
}

func openMemory() (*memory, error) {
	m := &memory{}
	var err error
	for _, want := range []struct {
		file *(*os.File)
		name string
		size int
		init func([]byte) error
	}{
		{&m.page, "page", snapshot.PageSize, func(b []byte) error { _, err := snapshot.OpenPage(b); return err }},
		{&m.health, "health", health.TableSize, func(b []byte) error { _, err := health.OpenTable(b); return err }},
		{&m.records, "records", accesslog.SegmentSize, func(b []byte) error { _, err := accesslog.OpenSegment(b); return err }},
		{&m.sessions, "sessions", session.MemorySize, func(b []byte) error { _, err := session.OpenMemory(b); return err }},
		{&m.tickets, "tickets", tlsconf.KeptSize, func([]byte) error { return nil }},
		{&m.kinds, "kinds", marks.PublishedSize, func(b []byte) error { _, err := marks.OpenPublished(b); return err }},
		{&m.stats, "stats", stats.SegmentSize, func(b []byte) error { _, err := stats.CreateSegment(b, 1); return err }},
	} {
		if *want.file, err = segment(want.name, want.size, want.init); err != nil {
			m.close()
			return nil, fmt.Errorf("shared memory %q: %w", want.name, err)
		}
		if want.file == &m.tickets { // the engine ignores invalid contents there
			continue
		}
		b, err := begin(want.name, *want.file)
		if err != nil {
			m.close()
			return nil, fmt.Errorf("shared memory %q: %w", want.name, err)
		}
		m.begun = append(m.begun, b)
	}
	if m.wake, err = shm.Event("sluice-records"); err != nil {
		m.close()
		return nil, err
	}
	if m.mapped, err = shm.MapShared(m.page, true); err == nil {
		m.control, err = snapshot.OpenPage(m.mapped.Bytes())
	}
	if err != nil {
		m.close()
		return nil, fmt.Errorf("shared memory %q: %w", "page", err)
	}
	for _, want := range []struct{ reader, of **os.File }{{&m.statsReader, &m.stats}, {&m.healthReader, &m.health}, {&m.kindsReader, &m.kinds}} {
		if *want.reader, err = shm.ReadOnly(*want.of); err != nil {
			m.close()
			return nil, fmt.Errorf("shared memory: %w", err)
		}
	}
	return m, nil
}

// The stats segment is created for one loop, so that mgmt can open it before the first
// engine reports its number of loops.

// segment creates a segment whose package writes the header.
func segment(name string, size int, init func([]byte) error) (*os.File, error) {
	f, err := shm.Shared("sluice-"+name, size)
	if err != nil {
		return nil, err
	}
	mem, err := shm.MapShared(f, true)
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	defer mem.Close()
	if err := init(mem.Bytes()); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func (m *memory) close() {
	if m.mapped != nil {
		_ = m.mapped.Close()
	}
	for _, f := range []*os.File{m.page, m.health, m.stats, m.records, m.sessions, m.tickets, m.kinds, m.wake, m.statsReader, m.healthReader, m.kindsReader} {
		if f != nil {
			_ = f.Close()
		}
	}
}

package mgmt

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/link"
	"github.com/sluicelb/sluice/mgmt/api/state"
	"github.com/sluicelb/sluice/mgmt/api/traffic"
)

// holder is an engine with that many sessions for each service, all on backend 12, and one
// of an unknown backend.
type holder struct {
	count  map[uint32]int
	broken uint32
	limits []int
}

func (h *holder) Sessions(_ context.Context, service uint32, limit int) (total int, list []link.Session, err error) {
	h.limits = append(h.limits, limit)
	if service == h.broken {
		return 0, nil, errors.New("broken")
	}
	for i := range min(h.count[service], limit) {
		list = append(list, link.Session{Key: fmt.Appendf(nil, "c%04d", h.count[service]-i), Backend: 12, TTL: 3_244_200 * time.Millisecond})
	}
	return h.count[service], list, nil
}

// shop has two services with persistence and one without.
func shop() *farm.Farm {
	service := func(id uint32, name string, p farm.Persistence) farm.Service {
		return farm.Service{ID: id, Name: name, Persistence: p, SessionID: "sid", Backends: []farm.Backend{
			{ID: 11, Host: "192.0.2.1", Port: 80}, {ID: 12, Host: "192.0.2.2", Port: 81},
		}}
	}
	return &farm.Farm{Name: "shop", HTTP: &farm.HTTP{Services: []farm.Service{
		service(1, "a", farm.PersistCookie), service(2, "b", farm.PersistNone), service(3, "c", farm.PersistIP),
	}}}
}

func TestSessionsOfAllServicesShareOneBound(t *testing.T) {
	h := &holder{count: map[uint32]int{1: 700, 2: 5, 3: 900}}
	list, total, err := farmSessions(t.Context(), h, shop(), "", link.MaxSessions)
	if err != nil || total != 1600 || len(list) != link.MaxSessions || !reflect.DeepEqual(h.limits, []int{1000, 300}) {
		t.Errorf("%d sessions, %d listed, limits %v, %v", total, len(list), h.limits, err)
	}
	list, total, err = farmSessions(t.Context(), h, shop(), "c", link.MaxSessions)
	if err != nil || total != 900 || len(list) != 900 || list[0].Service != "c" {
		t.Errorf("of one service: %d sessions, %d listed, %v", total, len(list), err)
	}
	stopped := shop()
	stopped.Stopped = true
	stopped.HTTP.Services[0].Backends[1].Sessions = []string{"me"}
	if list, total, err := farmSessions(t.Context(), h, stopped, "", link.MaxSessions); err != nil || total != 1 || len(list) != 1 || list[0].Type != "static" || list[0].ID != 1 {
		t.Errorf("stopped: %d sessions, %v, %v", total, list, err)
	}
	h.broken = 3
	if list, total, err := farmSessions(t.Context(), h, shop(), "", link.MaxSessions); err == nil || total != 0 || list != nil {
		t.Errorf("half an answer: %d sessions, %v, %v", total, list, err)
	}
}

func TestSessionIsShownAsTheFamilyDoes(t *testing.T) {
	found := []link.Session{
		{Key: []byte("z\xff"), Backend: 12, TTL: 3_244_200 * time.Millisecond},
		{Key: []byte("10.0.0.1"), Backend: 11, TTL: 1},
		{Key: []byte("lost"), Backend: 99},
		{Key: []byte("forever"), Backend: 11, Static: true},
	}
	text := func(s string) *string { return &s }
	port := func(n uint16) *uint16 { return &n }
	want := []state.Session{
		{Client: "forever", ID: 0, Session: "forever", BackendIP: "192.0.2.1", BackendPort: port(80), Service: "a", Type: "static"},
		{Client: "10.0.0.1", ID: 0, Session: "10.0.0.1", BackendIP: "192.0.2.1", BackendPort: port(80), Service: "a", TTL: text("1s"), Type: "dynamic"},
		{Client: "z\ufffd", ID: 1, Session: "z\ufffd", BackendIP: "192.0.2.2", BackendPort: port(81), Service: "a", TTL: text("54m5s"), Type: "dynamic"},
	}
	if got := sessionsOf(shop().Groups()[0], found); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
}

// changer is an engine that records its requests.
type changer struct {
	holder
	got   []link.SessionChange
	err   error
	found bool
}

func (c *changer) Session(_ context.Context, _ uint32, key []byte) (link.Session, bool, error) {
	return link.Session{Key: key, Backend: 12}, c.found, nil
}

func (c *changer) ChangeSessions(_ context.Context, change link.SessionChange) (int, error) {
	c.got = append(c.got, change)
	return 1, c.err
}

func TestChangesOfSessionsReachTheEngine(t *testing.T) {
	c := &changer{}
	table, s := sessionTable{sessionStores{engine: c}}, shop().Groups()[2]
	if was, err := table.Delete(t.Context(), s, "me"); err != nil || !was {
		t.Error(was, err)
	}
	if n, err := table.Flush(t.Context(), s); err != nil || n != 1 {
		t.Error(n, err)
	}
	if was, err := table.Learn(t.Context(), s, "you", 12, time.Minute); err != nil || !was {
		t.Error(was, err)
	}
	want := []link.SessionChange{
		{Service: 3, Act: link.DeleteSession, Key: []byte("me")},
		{Service: 3, Act: link.FlushSessions},
		{Service: 3, Act: link.DeleteSession, Key: []byte("you")},
		{Service: 3, Act: link.LearnSessions, List: []link.Session{{Key: []byte("you"), Backend: 12, TTL: time.Minute}}},
	}
	if !reflect.DeepEqual(c.got, want) {
		t.Errorf("got %+v", c.got)
	}
	for _, want := range []bool{true, false} {
		c.found = want
		got, ok, err := table.Find(t.Context(), s, "me")
		if err != nil || ok != want || ok && (got.ID != 1 || got.Session != "me" || *got.BackendPort != 81) {
			t.Errorf("%+v, %v, %v", got, ok, err)
		}
	}
	c.err = fmt.Errorf("%w: no such backend", link.ErrRefused)
	if _, err := table.Flush(t.Context(), s); !errors.Is(err, traffic.ErrSessionRefused) {
		t.Errorf("got %v", err)
	}
	c.err = errors.New("broken")
	if _, err := table.Flush(t.Context(), s); err == nil || errors.Is(err, traffic.ErrSessionRefused) {
		t.Errorf("got %v", err)
	}
}

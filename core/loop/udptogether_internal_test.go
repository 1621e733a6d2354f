package loop

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"unsafe"
)

// client returns one of many endpoints. Some of them share a bucket.
func client(i int) *Endpoint {
	e := EndpointOf(netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 4), byte(i)}), uint16(1024+i%7)))
	return &e
}

// sent returns the datagrams that would leave, by client, and the number of messages.
func (s *sending) sent(q *backlog) (to map[Endpoint][]string, messages int) {
	to = map[Endpoint][]string{}
	for at := q.take(); at != none; {
		at = s.fill(at, int(q.limit))
		for i, b := range s.batch[:s.count] {
			end := s.used
			if i+1 < s.count {
				end = s.batch[i+1].first
			}
			var whole []byte
			for _, v := range s.vectors[b.first:end] {
				whole = append(whole, unsafe.Slice(v.Base, v.Len)...)
			}
			for size := max(b.size, 1); len(whole) > 0; whole = whole[min(size, len(whole)):] {
				to[b.to] = append(to[b.to], string(whole[:min(size, len(whole))]))
			}
		}
		messages += s.count
	}
	return to, messages
}

// Datagrams to one client leave together even if others were sent in between.
func TestResponsesToOneClientAreBatched(t *testing.T) {
	var s sending
	s.init()
	q := noBacklog
	for i := range 64 {
		s.addTo(&q, fmt.Appendf(nil, "answer %02d", i), 0, client(i%8), &Endpoint{})
	}
	got, messages := s.sent(&q)
	if messages != 8 || len(got) != 8 || !slices.Equal(got[*client(3)][:3], []string{"answer 03", "answer 11", "answer 19"}) || len(got[*client(3)]) != 8 {
		t.Errorf("%d messages to %d clients, %q", messages, len(got), got[*client(3)])
	}
}

// Each client receives its own datagrams in order, for any sequence of batches, clients
// and listeners, and none of an earlier batch.
func TestResponsesArriveInOrderPerClient(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 11))
	var s sending
	s.init()
	listeners := []*backlog{{head: none, limit: maxSegment}, {head: none, limit: maxSegment}}
	for round := range 400 {
		want := []map[Endpoint][]string{{}, {}}
		clients := 1 + r.IntN(300)
		for i := range r.IntN(3 * datagramBatch) {
			at, to := r.IntN(2), client(r.IntN(clients))
			text := fmt.Sprintf("%d.%d%s", round, i, "xyz"[:r.IntN(3)])
			first := s.addTo(listeners[at], []byte(text), 0, to, &Endpoint{})
			if first != (len(want[at]) == 0) {
				t.Fatalf("round %d: first is %t", round, first)
			}
			want[at][*to] = append(want[at][*to], text)
			if r.IntN(100) == 0 { // one is flushed while another is filled
				check(t, &s, listeners[at], want[at])
				want[at] = map[Endpoint][]string{}
			}
		}
		for at, q := range listeners {
			if len(want[at]) > 0 {
				check(t, &s, q, want[at])
			}
		}
		s.pieces = s.pieces[:0]
	}
}

func check(t *testing.T, s *sending, q *backlog, want map[Endpoint][]string) {
	t.Helper()
	got, _ := s.sent(q)
	if len(got) != len(want) {
		t.Fatalf("%d clients got something, want %d", len(got), len(want))
	}
	for to, texts := range want {
		if !slices.Equal(got[to], texts) {
			t.Fatalf("%s got %q, want %q", to.Addr(), got[to], texts)
		}
	}
}

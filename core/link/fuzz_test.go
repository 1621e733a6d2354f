package link_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/link"
)

// FuzzMessage decodes arbitrary bytes. A valid message must encode to an equivalent
// one. A publication must split any number of descriptors without losing one.
func FuzzMessage(f *testing.F) {
	f.Add(link.EncodedHello(link.Hello{PID: 1, Layout: 1, Generation: 2, Loops: 3, Listeners: []string{"k"}, Started: time.Unix(5, 0)}))
	f.Add(link.EncodedAck(link.Ack{Generation: 1, Refused: "no", Farms: map[uint32]string{1: "a", 2: "b"}, Listeners: []string{"k"}}))
	f.Add(link.EncodedPublication("tcp 127.0.0.1:80", 2))
	f.Add(link.EncodedPublication("", -1))
	f.Add(link.EncodedQuestion(7, 1000))
	f.Add(link.EncodedQuestion(1<<32-1, -1))
	f.Add(link.EncodedChange(link.SessionChange{Service: 7, Act: link.DeleteSession, Key: []byte{0xff}}))
	f.Add(link.EncodedAnswer(5, []link.Session{{Key: []byte("10.0.0.1"), Backend: 3, TTL: time.Hour}, {Key: []byte{0xff, 0}, TTL: -1}}, ""))
	f.Add(link.EncodedAnswer(-1, nil, "no"))
	f.Add(link.EncodedExplain(explain.Question{Farm: 7, Method: "GET", URL: "/\xff", Headers: []string{"Host: a.test", ""}, From: "::1", SNI: "a.test"}))
	f.Add(link.EncodedExplanation(explained))
	f.Add(link.EncodedExplanation(explain.Explanation{}))
	f.Add(link.EncodedConnections(5, connected(3, 1), link.Connection{}))
	f.Add(link.EncodedConnectionQuestion(nil, -1, true))
	f.Add(link.EncodedConnectionQuestion([]uint32{1, 1<<32 - 1}, 1000, false))
	f.Add([]byte{0xa1, 4, 0xa1, 5, 0xa0})
	f.Add([]byte{0xa1, 5, 0xa2, 1, 0, 5, 0xa0})
	f.Add([]byte{0xa1, 4, 0xa0})
	f.Add([]byte{0xa1, 5, 0xa1, 2, 0x9a, 255, 255, 255, 255})
	f.Add([]byte{0xa1, 6, 0xa0})
	f.Add([]byte{0xa2, 3, 0xa1, 1, 7, 6, 0xf5})
	f.Add([]byte{0xa2, 3, 0xa2, 1, 7, 4, 0x81, 0x61, 'k', 6, 0xf5})
	f.Add([]byte{0xa2, 5, 0xa0, 6, 0xf5})
	f.Add([]byte{0xa1, 2, 0xa0})
	f.Add([]byte{0xa2, 2, 0xa0, 3, 0xa0})
	f.Add([]byte{0xa1, 2, 0xa1, 1, 0x9a, 255, 255, 255, 255})
	f.Add(bytes.Repeat([]byte{0x81}, 500))
	f.Add(bytes.Repeat([]byte{0xa1, 1}, 200))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		once, err := link.Recode(b)
		if err != nil {
			if !errors.Is(err, link.ErrProtocol) && !errors.Is(err, link.ErrTooLarge) {
				t.Fatalf("unknown error %v", err)
			}
			return
		}
		twice, err := link.Recode(once)
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%x became %x, %v", once, twice, err)
		}
		for n := range 5 {
			counts, err := link.SplitCounts(b, n)
			sum := 1 // the snapshot
			for _, c := range counts {
				sum += c
			}
			if err == nil && counts != nil && sum != n {
				t.Fatalf("%d of %d descriptors were divided", sum, n)
			}
		}
	})
}

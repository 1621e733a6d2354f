package loop_test

import (
	"crypto/tls"
	"io"
	"testing"

	"github.com/sluicelb/sluice/core/loop"
)

func TestPartsOfAWriteShareRecordsAndPackets(t *testing.T) {
	l := start(t)
	addr := secure(t, l, serverConfig(func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }, "P-256"), func(*loop.Conn) *probe {
		return &probe{readable: func(c *loop.Conn) {
			n, err := c.Read(l.In)
			if err != nil {
				return
			}
			before := c.SegmentsSent()
			switch string(l.In[:n]) {
			case "small":
				_ = c.WriteMore([]byte("head, "))
				_ = c.WriteMore([]byte("more, "))
				_ = c.Write([]byte("body"))
			case "large":
				_ = c.WriteMore(make([]byte, 100))
				_ = c.Write(make([]byte, 20000-100))
			case "larger":
				_ = c.WriteMore(make([]byte, 20000))
				_ = c.Write(make([]byte, 2*16384-20000))
				return // the first part may leave separately
			}
			if sent := c.SegmentsSent() - before; sent != 1 {
				t.Errorf("%s: %d packets, want all records in one", l.In[:n], sent)
			}
		}}
	})
	r := &tap{Conn: dial(t, addr)}
	c := tls.Client(r, clientConfig(nil))
	for _, test := range []struct {
		say     string
		size    int
		records int
	}{{"small", 16, 1}, {"large", 20000, 2}, {"larger", 32768, 3}} {
		if _, err := c.Write([]byte(test.say)); err != nil {
			t.Fatal(err)
		}
		r.heard.Reset()
		if _, err := io.ReadFull(c, make([]byte, test.size)); err != nil {
			t.Fatal(err)
		}
		if n := len(recordTypes(r.heard.Bytes())); n != test.records {
			t.Errorf("%s: %d records, want %d", test.say, n, test.records)
		}
	}
}

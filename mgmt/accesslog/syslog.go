package accesslog

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	// priority is facility local0, severity informational (RFC 5424 section 6.2.1).
	priority = 16*8 + 6
	// dialTime bounds a connect and the resolving before it, writeTime a write.
	dialTime  = 2 * time.Second
	writeTime = 2 * time.Second
	// A target that cannot be reached is tried again after firstPause, then
	// after twice as long each time, up to longestPause.
	firstPause   = 100 * time.Millisecond
	longestPause = 30 * time.Second
)

// errPaused says that a target is left alone for a while after it failed.
var errPaused = errors.New("the syslog target did not take lines a moment ago and is left alone for a while")

// CheckTarget says whether a text is a syslog target: udp://host:port,
// tcp://host:port or unix:///path.
func CheckTarget(text string) error {
	_, err := parseTarget(text)
	return err
}

// syslogTarget is where messages go. A unix socket is tried as one of
// datagrams and as one of streams.
type syslogTarget struct {
	networks []string
	address  string
}

func parseTarget(text string) (syslogTarget, error) {
	u, err := url.Parse(text)
	if err != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Opaque != "" {
		return syslogTarget{}, fmt.Errorf("%q is none of udp://host:port, tcp://host:port and unix:///path", text)
	}
	switch u.Scheme {
	case "udp", "tcp":
		port, err := strconv.ParseUint(u.Port(), 10, 16)
		if err != nil || port == 0 || u.Hostname() == "" || u.Path != "" {
			return syslogTarget{}, fmt.Errorf("%q is not %s://host:port", text, u.Scheme)
		}
		return syslogTarget{[]string{u.Scheme}, u.Host}, nil
	case "unix":
		if u.Host != "" || !strings.HasPrefix(u.Path, "/") {
			return syslogTarget{}, fmt.Errorf("%q is not unix:///path", text)
		}
		return syslogTarget{[]string{"unixgram", "unix"}, u.Path}, nil
	}
	return syslogTarget{}, fmt.Errorf("%q is none of udp://host:port, tcp://host:port and unix:///path", text)
}

// syslog is an output that sends each line as one message (RFC 5424): a
// datagram, or over a stream with its length before it (RFC 6587 section
// 3.4.1).
type syslog struct {
	target syslogTarget
	header func(dst []byte) []byte

	conn    net.Conn
	framed  bool
	message []byte
	pause   time.Duration
	next    time.Time // no earlier is another connect tried
	now     func() time.Time
}

func newSyslog(text string) (*syslog, error) {
	target, err := parseTarget(text)
	if err != nil {
		return nil, err
	}
	o := &syslog{target: target, now: time.Now}
	host, _ := os.Hostname()
	from := " " + headerName(host, 255) + " sluice " + strconv.Itoa(os.Getpid()) + " access - "
	o.header = func(dst []byte) []byte {
		dst = append(strconv.AppendInt(append(dst, '<'), priority, 10), ">1 "...)
		dst = o.now().UTC().AppendFormat(dst, "2006-01-02T15:04:05.000000Z")
		return append(dst, from...)
	}
	return o, nil
}

// headerName is a text as a field of a header: printable ASCII without blanks,
// a dash for none.
func headerName(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' {
			return -1
		}
		return r
	}, text)
	if text == "" {
		return "-"
	}
	return text[:min(len(text), most)]
}

func (o *syslog) write(c *chunk) error {
	if o.conn == nil {
		if err := o.connect(); err != nil {
			return err
		}
	}
	if err := o.send(c); err != nil {
		o.close()
		o.backOff()
		return fmt.Errorf("send to syslog: %w", err)
	}
	o.pause = 0
	return nil
}

func (o *syslog) connect() error {
	if o.now().Before(o.next) {
		return errPaused
	}
	var all error
	for _, network := range o.target.networks {
		ctx, cancel := context.WithTimeout(context.Background(), dialTime)
		conn, err := new(net.Dialer).DialContext(ctx, network, o.target.address)
		cancel()
		if err == nil {
			o.conn, o.framed = conn, network == "tcp" || network == "unix"
			return nil
		}
		all = errors.Join(all, err)
	}
	o.backOff()
	return fmt.Errorf("connect to syslog: %w", all)
}

// backOff keeps the next connect away for a while: not everyone's the same.
func (o *syslog) backOff() {
	o.pause = min(max(2*o.pause, firstPause), longestPause)
	o.next = o.now().Add(o.pause/2 + rand.N(o.pause))
}

// send sends every line of the chunk as a message.
func (o *syslog) send(c *chunk) error {
	if err := o.conn.SetWriteDeadline(o.now().Add(writeTime)); err != nil {
		return err
	}
	o.message = o.message[:0]
	head := o.header(nil)
	start := 0
	for _, end := range c.ends {
		text := c.bytes[start : end-1] // without its line end
		start = end
		if o.framed {
			o.message = append(strconv.AppendInt(o.message, int64(len(head)+len(text)), 10), ' ')
			o.message = append(append(o.message, head...), text...)
			continue
		}
		o.message = append(append(o.message[:0], head...), text...)
		if _, err := o.conn.Write(o.message); err != nil {
			return err
		}
	}
	if !o.framed {
		return nil
	}
	_, err := o.conn.Write(o.message)
	return err
}

func (o *syslog) reopen() { o.close() }

func (o *syslog) close() {
	if o.conn != nil {
		_ = o.conn.Close()
		o.conn = nil
	}
}

package accesslog

import (
	"time"

	"github.com/sluicelb/sluice/mgmt/syslog"
)

// syslogSink is an output that sends each line as one message.
type syslogSink struct {
	conn   *syslog.Conn
	origin syslog.Origin
	head   []byte
	now    func() time.Time
}

func newSyslog(text string) (*syslogSink, error) {
	target, err := syslog.ParseTarget(text)
	if err != nil {
		return nil, err
	}
	return &syslogSink{conn: syslog.NewConn(target, nil), origin: syslog.Here(), now: time.Now}, nil
}

// write sends every line of the chunk as a message.
func (o *syslogSink) write(c *chunk) error {
	if err := o.conn.Begin(); err != nil {
		return err
	}
	o.head = o.origin.AppendHeader(o.head[:0], syslog.Priority(syslog.Local0, syslog.Info), o.now(), syslog.IDAccess)
	o.head = append(o.head, "- "...)
	start := 0
	for _, end := range c.ends {
		if err := o.conn.Add(o.head, c.bytes[start:end-1]); err != nil { // without the line end
			return err
		}
		start = end
	}
	return o.conn.End()
}

func (o *syslogSink) reopen() { o.conn.Close() }
func (o *syslogSink) close()  { o.conn.Close() }

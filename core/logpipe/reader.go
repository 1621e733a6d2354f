package logpipe

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"strconv"
	"time"
)

// MostPerSecond is the maximum number of records read from one pipe per second.
const MostPerSecond = 2000

// Read passes the records of a pipe to each until ctx ends or all writers are closed.
// It owns f during the call.
func Read(ctx context.Context, f *os.File, each func(Record)) error {
	return readAt(ctx, f, pace{now: time.Now, wait: func(d time.Duration) { pause(ctx, d) }}, each)
}

// readAt is Read with a pace.
func readAt(ctx context.Context, f *os.File, p pace, each func(Record)) error {
	defer context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Unix(1, 0)) })()
	in := bufio.NewReaderSize(f, MaxRecord)
	for {
		line, err := in.ReadSlice('\n')
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil, errors.Is(err, bufio.ErrBufferFull): // our records are shorter than the buffer
			each(parse(line))
			p.one()
		case errors.Is(err, io.EOF):
			return nil
		default:
			return err
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// pace limits the number of records per second.
type pace struct {
	now   func() time.Time
	wait  func(time.Duration)
	begun time.Time
	n     int
}

// one is called for each record and waits at the limit.
func (p *pace) one() {
	if p.n++; p.n < MostPerSecond {
		if p.n == 1 {
			p.begun = p.now()
		}
		return
	}
	if left := time.Second - p.now().Sub(p.begun); left > 0 {
		p.wait(min(left, time.Second))
	}
	p.n = 0
}

// parse decodes a line of the pipe. A line that is not a record becomes the text of
// one.
func parse(line []byte) Record {
	line = bytes.TrimSuffix(line, []byte("\n"))
	level, rest, _ := bytes.Cut(line, []byte(" "))
	at, text, is := bytes.Cut(rest, []byte(" "))
	n, err := strconv.ParseInt(string(level), 10, 8)
	nanos, wrong := strconv.ParseInt(string(at), 10, 64)
	if !is || err != nil || wrong != nil {
		return Record{slog.LevelWarn, time.Now(), string(line)}
	}
	return Record{slog.Level(n), time.Unix(0, nanos), string(text)}
}

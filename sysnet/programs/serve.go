package programs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// Options are the parameters of Serve.
type Options struct {
	// Boxes run the programs, one each at a time.
	Boxes []*Box
	// Folders are folders with programs, Programs are paths of single ones. A call refers
	// to one of these, or sends its file along.
	Folders, Programs []string
	Log               *slog.Logger
}

// Limits of a server.
const (
	// requestTime bounds the time to receive a call.
	requestTime = 10 * time.Second
	// maxRequest bounds a call, maxFile the files sent with it, in bytes.
	maxRequest = 4 << 20
	maxFile    = 64 << 20
	maxLimit   = 10 * time.Minute
	// MaxBeside is the maximum number of files sent in addition to the program.
	MaxBeside = 31
)

// Serve handles the calls that arrive at progd's end of the pair, until ctx ends or the
// pair is closed. It returns after all programs have ended.
func Serve(ctx context.Context, from *net.UnixConn, o Options) error {
	free := make(chan *Box, len(o.Boxes))
	family := newFamily()
	for _, b := range o.Boxes {
		b.family = family
		b.sweep()
		b.removeLeft()
		free <- b
	}
	defer context.AfterFunc(ctx, func() { _ = from.SetReadDeadline(time.Unix(1, 0)) })()
	defer func() {
		for range o.Boxes {
			<-free
		}
	}()
	for {
		conn, files, err := receive(from)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("receive a call: %w", err)
		case conn == nil:
			continue // a message without descriptors is not a call
		}
		go func() {
			defer conn.Close()
			defer closeAll(files)
			o.answer(ctx, conn, files, free)
		}()
	}
}

// answer handles one call.
func (o *Options) answer(ctx context.Context, conn *net.UnixConn, files []*os.File, free chan *Box) {
	_ = conn.SetReadDeadline(time.Now().Add(requestTime))
	var c Call
	if err := json.NewDecoder(io.LimitReader(conn, maxRequest)).Decode(&c); err != nil {
		o.Log.Warn("a call of a program cannot be read", "reason", err)
		return
	}
	c.Limit = min(max(c.Limit, time.Millisecond), maxLimit)
	_ = conn.SetReadDeadline(time.Time{})
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = conn.Read(make([]byte, 1)) // the caller sends nothing more, so Read returns when it hangs up
		cancel()
	}()
	answers := json.NewEncoder(conn)
	e := o.carryOut(ctx, c, files, free, func() { _ = answers.Encode(answer{}) })
	_ = answers.Encode(answer{End: &e})
}

// answer carries the result of a program. The first one has no End and announces the
// start.
type answer struct{ End *End }

// carryOut validates a call, waits for a free box, calls begins and runs the program. The
// program gets all of its time after the wait.
func (o *Options) carryOut(ctx context.Context, c Call, files []*os.File, free chan *Box, begins func()) End {
	for _, name := range append([]string{c.File}, c.Beside...) {
		if filepath.Base(name) != name || name == "." || name == ".." {
			return End{Unstarted: "its name is a path"}
		}
	}
	switch {
	case len(files) > 0 && len(files) != 1+len(c.Beside):
		return End{Unstarted: "not all files came along"}
	case len(files) == 0 && !slices.Contains(o.Folders, c.Folder) && !slices.Contains(o.Programs, filepath.Join(c.Folder, c.File)):
		return End{Unstarted: fmt.Sprintf("no programs are started from %s", c.Folder)}
	}
	select {
	case b := <-free:
		defer func() { free <- b }()
		begins()
		return b.Run(ctx, c, files)
	case <-time.After(c.Limit):
		return End{Unstarted: fmt.Sprintf("%d programs run already, as many as may, and none ended in time", len(o.Boxes))}
	case <-ctx.Done():
		return End{Gone: true}
	}
}

// receive returns the socket of the next call and its files. conn is nil if the message
// is not a call.
func receive(from *net.UnixConn) (conn *net.UnixConn, files []*os.File, err error) {
	b, control := make([]byte, 16), make([]byte, syscall.CmsgSpace(4*(2+MaxBeside)))
	n, size, _, _, err := from.ReadMsgUnix(b, control)
	if err != nil {
		return nil, nil, err
	}
	all := descriptors(control[:size])
	if len(all) == 0 {
		if n == 0 {
			err = io.EOF
		}
		return nil, nil, err
	}
	defer all[0].Close()
	c, err := net.FileConn(all[0])
	if conn, is := c.(*net.UnixConn); err == nil && is {
		return conn, all[1:], nil
	}
	closeAll(all[1:])
	return nil, nil, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

func descriptors(control []byte) (out []*os.File) {
	messages, err := syscall.ParseSocketControlMessage(control)
	if err != nil {
		return nil
	}
	for i := range messages {
		fds, err := syscall.ParseUnixRights(&messages[i])
		if err != nil {
			continue
		}
		for _, fd := range fds {
			syscall.CloseOnExec(fd)
			out = append(out, os.NewFile(uintptr(fd), "call"))
		}
	}
	return out
}

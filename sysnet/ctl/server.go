package ctl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sluicelb/sluice/core/shm"
)

const (
	// maxPeers bounds concurrent connections; mgmt needs a few.
	maxPeers = 16
	// replyTimeout bounds the time a peer may leave a reply unread.
	replyTimeout = 5 * time.Second
)

// Serve handles requests from l until ctx ends, then closes l and every socket it opened,
// and returns nil. It returns an error only if l is closed from outside.
//
// Peers whose uid is not in allowed are closed unread. A malformed message gets a reply
// with CodeInvalid. A receive error ends its connection, but not the server. Operations
// other than those on sockets go to parts.
//
// When last is closed, all sockets are closed and no others are opened, so new clients
// are refused while everything else continues. nil disables this.
func Serve(ctx context.Context, last <-chan struct{}, l *net.UnixListener, allowed []uint32, log *slog.Logger,
	parts Parts, hooks ...Hooks) error {
	s := &server{table: newTable(), allowed: allowed, log: log, peers: newPeers(maxPeers), parts: parts, hooks: hooks}
	s.table.taken = s.taken
	defer s.table.closeAll()
	go func() {
		select {
		case <-last:
			s.table.closeAll()
		case <-ctx.Done():
		}
	}()
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	var served sync.WaitGroup
	defer served.Wait()
	for {
		c, err := l.AcceptUnix()
		if ctx.Err() != nil {
			if err == nil {
				_ = c.Close()
			}
			return nil
		}
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return fmt.Errorf("netd socket: %w", err)
			}
			log.Warn("accept failed", "error", err)
			time.Sleep(50 * time.Millisecond) // probably out of descriptors; spinning would not free one
			continue
		}
		served.Go(func() { s.serve(ctx, c) })
	}
}

type server struct {
	table   *table
	allowed []uint32
	log     *slog.Logger
	peers   *peers
	parts   Parts
	hooks   []Hooks
}

// Hooks are functions about listeners; nil ones are not called.
type Hooks struct {
	// Heard is called when an address and port is opened or closed. It must not block.
	Heard func(at netip.AddrPort, open bool)
	// Taken returns why a listener on a network ("tcp" or "udp") and address would get no
	// clients, or "".
	Taken func(network string, at netip.AddrPort) string
}

func (s *server) tell(at netip.AddrPort, open bool) {
	for _, h := range s.hooks {
		if h.Heard != nil {
			h.Heard(at, open)
		}
	}
}

func (s *server) taken(at endpoint) (why string) {
	for _, h := range s.hooks {
		if h.Taken != nil && why == "" {
			why = h.Taken(at.network, at.addr)
		}
	}
	return why
}

func (s *server) serve(ctx context.Context, c *net.UnixConn) {
	defer c.Close()
	uid, pid, err := shm.PeerUID(c)
	switch {
	case err != nil:
		s.log.Warn("peer turned away: it is not known who it is", "error", err)
		return
	case !slices.Contains(s.allowed, uid):
		s.log.Warn("peer turned away: not allowed to ask", "uid", uid, "pid", pid, "allowed", s.allowed)
		return
	}
	mine, evicted, ok := s.peers.enter(c, pid)
	switch {
	case !ok:
		s.log.Warn("peer turned away: too many connections", "limit", maxPeers, "pid", pid)
		s.turnAway(c)
		return
	case evicted != nil:
		s.log.Warn("the connection that was idle the longest was closed for a new one", "limit", maxPeers, "pid", pid, "closed_pid", evicted.pid)
	}
	defer s.peers.leave(mine)
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	buf := make([]byte, maxRequest+1)
	for {
		n, files, err := shm.Receive(c, buf)
		if err != nil {
			closeFiles(files)
			if ctx.Err() == nil && !errors.Is(err, net.ErrClosed) && !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) { // the peer closed the connection, possibly with an unread reply
				s.log.Warn("connection ended", "pid", pid, "error", err)
			}
			return
		}
		if !s.peers.begin(mine) {
			closeFiles(files)
			return
		}
		err = s.answer(ctx, c, buf[:n], files)
		s.peers.end(mine)
		closeFiles(files)
		if err != nil {
			s.log.Warn("reply not sent", "pid", pid, "error", err)
			return
		}
	}
}

func (s *server) answer(ctx context.Context, c *net.UnixConn, msg []byte, attached []*os.File) error {
	reply, files := s.handle(ctx, msg, attached)
	if reply.Sealed || reply.made {
		defer closeFiles(files)
	}
	b, err := json.Marshal(reply)
	if err != nil {
		return fmt.Errorf("encoding the reply: %w", err)
	}
	if err := c.SetWriteDeadline(time.Now().Add(replyTimeout)); err != nil {
		return err
	}
	return shm.Send(c, b, files...)
}

func (s *server) handle(ctx context.Context, msg []byte, attached []*os.File) (Reply, []*os.File) {
	r, addr, err := parseRequest(msg)
	if err != nil {
		return failure(err), nil
	}
	if !r.socket() {
		return s.ask(ctx, r, attached)
	}
	switch r.Op {
	case OpOpen:
		files, fresh, err := s.table.open(endpoint{r.Network, addr}, r.Count)
		if err != nil {
			s.log.Debug("open refused", "key", r.Key, "reason", err)
			return failure(err), nil
		}
		if fresh {
			s.log.Info("listening", "key", r.Key, "sockets", len(files))
			s.tell(addr, true)
		}
		return Reply{}, files
	case OpAdopt:
		if len(attached) != r.Count {
			return failure(rejection(CodeInvalid, "%d sockets were to come, %d did", r.Count, len(attached))), nil
		}
		fresh, err := s.table.adopt(endpoint{r.Network, addr}, attached)
		if err != nil {
			return failure(err), nil
		}
		if fresh {
			s.log.Info("listening again", "key", r.Key, "sockets", len(attached))
			s.tell(addr, true)
		}
		return Reply{}, nil
	case OpClose:
		if s.table.close(endpoint{r.Network, addr}) {
			s.tell(addr, false)
		}
		s.log.Info("closed", "key", r.Key)
		return Reply{}, nil
	case OpProbe:
		if err := s.table.free(endpoint{r.Network, addr}); err != nil {
			return failure(err), nil
		}
		return Reply{}, nil
	}
	keys, more := s.table.list(r.From)
	return Reply{Keys: keys, More: more}, nil
}

func failure(err error) Reply {
	e := asRejection(err)
	return Reply{Code: e.Code, Error: bounded(e.Text)}
}

// maxText bounds the text of an error in bytes, so that it fits into a message.
const maxText = 4 << 10

// bounded truncates a long text. Texts with several lines are cut at a line end and state
// the number of missing lines.
func bounded(text string) string {
	if len(text) <= maxText {
		return text
	}
	head := text[:maxText]
	if end := strings.LastIndexByte(head, '\n'); end > 0 {
		return fmt.Sprintf("%s\nand %d more lines", head[:end], 1+strings.Count(text[end+1:], "\n"))
	}
	return strings.ToValidUTF8(head, "") + "…"
}

package api

import (
	"errors"
	"net"
	"sync"
)

// boundedListener accepts no more than a number of connections at once; the
// rest waits in the kernel's queue.
type boundedListener struct {
	net.Listener
	room chan struct{}
	done chan struct{}
	once sync.Once
}

func bounded(l net.Listener, most int) net.Listener {
	return &boundedListener{Listener: l, room: make(chan struct{}, most), done: make(chan struct{})}
}

// Accept waits for room and then for a connection.
func (l *boundedListener) Accept() (net.Conn, error) {
	select {
	case l.room <- struct{}{}:
	case <-l.done:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.room
		return nil, err
	}
	return l.wrap(c), nil
}

// Close ends Accept too when it waits for room.
func (l *boundedListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return l.Listener.Close()
}

func (l *boundedListener) wrap(c net.Conn) net.Conn {
	return &boundedConn{Conn: c, leave: sync.OnceFunc(func() { <-l.room })}
}

// boundedConn gives its room back when it is closed.
type boundedConn struct {
	net.Conn
	leave func()
}

// Close closes the connection, once or often.
func (c *boundedConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

// NetConn returns the connection itself, for who must know what kind it is.
func (c *boundedConn) NetConn() net.Conn { return c.Conn }

// CloseWrite ends what is sent and leaves what comes: the server does so before it
// closes a connection on which a client may still be sending, so that the client gets
// the answer.
func (c *boundedConn) CloseWrite() error {
	if half, can := c.Conn.(interface{ CloseWrite() error }); can {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

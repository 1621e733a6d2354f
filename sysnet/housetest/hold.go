package housetest

import (
	"io"
	"net"
)

// Hold accepts connections until l is closed, and holds each until its client closes it.
func Hold(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			_, _ = io.Copy(io.Discard, c)
			_ = c.Close()
		}()
	}
}

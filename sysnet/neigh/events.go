package neigh

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// events receives kernel events about links, addresses, routes and neighbours. Their
// content is not parsed: each event triggers a look, as does the loss of events
// (ENOBUFS).
type events struct {
	file  *os.File
	heard chan struct{}
	done  chan struct{}
}

const groups = unix.RTMGRP_LINK | unix.RTMGRP_NEIGH | unix.RTMGRP_IPV4_IFADDR | unix.RTMGRP_IPV6_IFADDR |
	unix.RTMGRP_IPV4_ROUTE | unix.RTMGRP_IPV6_ROUTE

func listen() (*events, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("announcements of the kernel: %w", os.NewSyscallError("socket", err))
	}
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: groups}); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("announcements of the kernel: %w", os.NewSyscallError("bind", err))
	}
	e := &events{file: os.NewFile(uintptr(fd), "announcements"), heard: make(chan struct{}, 1), done: make(chan struct{})}
	go e.run()
	return e, nil
}

func (e *events) run() {
	defer close(e.done)
	for b := make([]byte, 1<<10); ; { // the rest of the message is discarded
		_, err := e.file.Read(b)
		if err != nil && !errors.Is(err, unix.ENOBUFS) && !errors.Is(err, unix.EINTR) {
			return
		}
		tell(e.heard)
	}
}

func (e *events) close() {
	_ = e.file.Close()
	<-e.done
}

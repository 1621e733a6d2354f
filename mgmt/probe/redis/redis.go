// Package redis checks Redis and compatible servers: AUTH, PING, and whether the server is
// a master. The protocol is RESP 2: lines, and strings preceded by their length.
package redis

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/wire"
)

type check struct {
	server         wire.Server
	user, password probe.Text
	role           string
}

// Check is check_redis.
func Check(f *probe.Flags) func() (probe.Probe, error) {
	c := &check{server: wire.Server{Port: 6379}, role: "master"}
	c.server.Flags(f, "p port")
	f.Host(&c.server.Host, "h host")
	f.Text(&c.user, "u user")
	f.Secret(&c.password, "a P password")
	f.Value("role", func(v string) error {
		if v != "master" && v != "slave" && v != "sentinel" && v != "any" {
			return fmt.Errorf("%q is no role: master, slave, sentinel or any", v)
		}
		c.role = v
		return nil
	})
	return func() (probe.Probe, error) {
		if c.user != "" && c.password == "" {
			return nil, errors.New("a user wants a password: -a")
		}
		return c, nil
	}
}

// Run executes the probe once.
func (c *check) Run(ctx context.Context, n probe.Network, to probe.Target, say probe.Say) error {
	conn, err := c.server.Open(ctx, n, to, say)
	if err != nil {
		return err
	}
	defer conn.Close()
	in := bufio.NewReader(conn)
	ask := func(words ...string) (reply string, err error) {
		probe.Step(ctx, stepOf(words[0]))
		if err := send(conn, words); err != nil {
			return "", err
		}
		reply, err = read(in)
		if refusal := (refused("")); errors.As(err, &refusal) {
			return "", fmt.Errorf("answered %q", string(refusal))
		}
		return reply, err
	}
	if c.password != "" {
		words := []string{"AUTH", string(c.password)}
		if c.user != "" {
			words = []string{"AUTH", c.user.For(to), string(c.password)}
		}
		if _, err := ask(words...); err != nil {
			return err
		}
		say("AUTH was accepted")
	}
	pong, err := ask("PING")
	if err != nil {
		return err
	}
	if pong != "PONG" {
		return fmt.Errorf("answered %q, wanted PONG", probe.Line(pong))
	}
	say("PING was answered PONG")
	if c.role == "any" {
		return nil
	}
	role, err := ask("ROLE")
	if err != nil {
		return err
	}
	say("ROLE was answered %s", role)
	if role != c.role {
		return fmt.Errorf("the server is a %s, wanted a %s", probe.Line(role), c.role)
	}
	return nil
}

// stepOf returns the name of the step of a command.
func stepOf(command string) string {
	if command == "AUTH" {
		return "login (AUTH)"
	}
	return command
}

func send(to io.Writer, words []string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, w := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
	}
	_, err := io.WriteString(to, b.String())
	return err
}

// refused is an error of the server.
type refused string

func (r refused) Error() string { return string(r) }

// read reads a reply. Of an array it reads only the first element, since the conversation
// ends with that.
func read(in *bufio.Reader) (string, error) {
	line, err := readLine(in)
	if err != nil {
		return "", err
	}
	switch line[0] {
	case '+':
		return line[1:], nil
	case '-':
		return "", refused(probe.Line(line[1:]))
	case '$':
		size, err := strconv.Atoi(line[1:])
		if err != nil || size < 0 || size > wire.Most {
			return "", errStrange
		}
		text := make([]byte, size+2)
		if _, err := io.ReadFull(in, text); err != nil {
			return "", err
		}
		return string(text[:size]), nil
	case '*':
		if size, err := strconv.Atoi(line[1:]); err != nil || size < 1 {
			return "", errStrange
		}
		if next, err := in.Peek(1); err != nil || next[0] != '$' && next[0] != '+' {
			return "", errors.Join(errStrange, err)
		}
		return read(in)
	}
	return "", errStrange
}

const errStrange = probe.Strange("the answer is not that of Redis")

func readLine(in *bufio.Reader) (string, error) {
	line, err := in.ReadSlice('\n') // at most the size of the reader's buffer
	if err != nil {
		return "", err
	}
	text := strings.TrimRight(string(line), "\r\n")
	if text == "" {
		return "", errStrange
	}
	return text, nil
}

// Package smtp checks mail servers: the greeting, HELO or EHLO, STARTTLS, a login, and
// commands of the operator.
package smtp

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/textproto"
	"strings"

	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/wire"
)

type check struct {
	server         wire.Server
	startTLS       bool
	name           probe.Text // name of the client in HELO
	from           probe.Text
	expect         probe.Text
	commands       []probe.Text
	responses      []probe.Text
	method         string
	user, password probe.Text
}

// Check is check_smtp. -S is STARTTLS, as in the plugin, and --tls is TLS from the first
// byte on.
func Check(f *probe.Flags) func() (probe.Probe, error) {
	c := &check{server: wire.Server{Port: 25}, expect: "220", name: "localhost"}
	c.server.Flags(f, "p port")
	f.Bool(&c.startTLS, "S starttls")
	f.Bool(&c.server.Secure, "tls ssl")
	f.Text(&c.name, "F fqdn")
	f.Value("f from", func(v string) error {
		c.from = probe.Text(strings.TrimSuffix(strings.TrimLeft(v, "<"), ">"))
		return nil
	})
	f.Text(&c.expect, "e expect")
	f.Texts(&c.commands, "C command")
	f.Texts(&c.responses, "R response")
	f.Ignore("q ignore-quit-failure")
	f.Value("A authtype", func(v string) error {
		if c.method = strings.ToUpper(v); c.method != "LOGIN" && c.method != "PLAIN" {
			return fmt.Errorf("%q is no way to log in: LOGIN or PLAIN", v)
		}
		return nil
	})
	f.Text(&c.user, "U authuser")
	f.Secret(&c.password, "P authpass")
	c.server.TLS.Flags(f, "D certificate")
	return func() (probe.Probe, error) {
		if c.server.TLS.Dated && !c.server.Secure {
			c.startTLS = true
		}
		switch {
		case c.startTLS && c.server.Secure:
			return nil, errors.New("either STARTTLS (-S) or TLS from the beginning (--tls)")
		case (c.user == "") != (c.password == ""), c.method != "" && c.user == "":
			return nil, errors.New("a log-in wants a user (-U) and a password (-P)")
		case len(c.responses) > len(c.commands):
			return nil, errors.New("there are more responses (-R) than commands (-C)")
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
	probe.Step(ctx, "greeting")
	t := &talk{textproto.NewConn(conn), ctx, say}
	greeting, err := t.hear()
	if err != nil {
		return err
	}
	if want := c.expect.For(to); !strings.Contains(greeting, want) {
		return fmt.Errorf("answered %q, wanted %q", probe.Line(greeting), want)
	}
	extended := c.startTLS || c.user != ""
	if err := c.hello(t, extended, to); err != nil {
		return err
	}
	if c.startTLS {
		if t, err = c.secure(ctx, t, conn, to); err != nil {
			return err
		}
	}
	if err := c.logIn(t, to); err != nil {
		return err
	}
	if err := c.talk(t, to); err != nil {
		return err
	}
	_ = t.PrintfLine("QUIT") // for an orderly end
	return nil
}

func (c *check) hello(t *talk, extended bool, to probe.Target) error {
	word := "HELO"
	if extended {
		word = "EHLO"
	}
	return t.must(word, "2", word+" "+c.name.For(to))
}

// secure starts TLS within the conversation, which then starts from the beginning.
func (c *check) secure(ctx context.Context, t *talk, conn net.Conn, to probe.Target) (*talk, error) {
	if err := t.must("STARTTLS", "220", "STARTTLS"); err != nil {
		return nil, err
	}
	if t.R.Buffered() > 0 {
		return nil, errors.New("the server said more than is allowed before TLS")
	}
	secured, err := c.server.TLS.Client(ctx, conn, c.server.Host, to, t.say)
	if err != nil {
		return nil, err
	}
	t = &talk{textproto.NewConn(wire.Heard(ctx, secured)), ctx, t.say}
	return t, c.hello(t, true, to)
}

func (c *check) logIn(t *talk, to probe.Target) error {
	if c.user == "" {
		return nil
	}
	user, password := c.user.For(to), string(c.password)
	encode := base64.StdEncoding.EncodeToString
	const login = "login"
	if c.method == "PLAIN" {
		return t.secret(login, "235", "AUTH PLAIN", "AUTH PLAIN "+encode([]byte("\x00"+user+"\x00"+password)))
	}
	if err := t.must(login, "334", "AUTH LOGIN"); err != nil {
		return err
	}
	if err := t.secret(login, "334", "the user", encode([]byte(user))); err != nil {
		return err
	}
	return t.secret(login, "235", "the password", encode([]byte(password)))
}

// talk sends the commands of the operator.
func (c *check) talk(t *talk, to probe.Target) error {
	if c.from != "" {
		if err := t.must("MAIL FROM", "250", "MAIL FROM:<"+c.from.For(to)+">"); err != nil {
			return err
		}
	}
	for i, command := range c.commands {
		probe.Step(t.ctx, fmt.Sprintf("command %d", i+1))
		answer, err := t.ask(command.For(to), command.For(to))
		if err != nil {
			return err
		}
		if i < len(c.responses) && !strings.Contains(answer, c.responses[i].For(to)) {
			return fmt.Errorf("%q was answered %q, wanted %q", command.For(to), probe.Line(answer), c.responses[i].For(to))
		}
	}
	return nil
}

// talk is the conversation.
type talk struct {
	*textproto.Conn
	ctx context.Context
	say probe.Say
}

// hear reads an answer of one or more lines.
func (t *talk) hear() (string, error) {
	var all []string
	for {
		line, err := t.R.ReadString('\n') // ReadLine would return a part of a line as a line
		if err != nil {
			return "", err
		}
		line = strings.TrimRight(line, "\r\n")
		t.say("< %s", line)
		all = append(all, line)
		if len(line) < 4 || line[3] != '-' {
			return strings.Join(all, " "), nil
		}
	}
}

// ask sends a line. The log of the conversation has shown instead, since the line may be a
// secret.
func (t *talk) ask(shown, line string) (string, error) {
	t.say("> %s", shown)
	if err := t.PrintfLine("%s", line); err != nil {
		return "", err
	}
	return t.hear()
}

// must sends a line as a step. The answer must begin with code.
func (t *talk) must(step, code, line string) error { return t.secret(step, code, line, line) }

func (t *talk) secret(step, code, shown, line string) error {
	probe.Step(t.ctx, step)
	answer, err := t.ask(shown, line)
	if err == nil && !strings.HasPrefix(answer, code) {
		if strings.HasPrefix(shown, step) {
			return fmt.Errorf("answered %q", probe.Line(answer))
		}
		return fmt.Errorf("%s was answered %q", shown, probe.Line(answer))
	}
	return err
}

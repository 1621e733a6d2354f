// Package postgres checks whether PostgreSQL lets a user log in to a database, and whether
// the server is a primary or a standby.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/wire"
)

type check struct {
	server                   wire.Server
	user, password, database probe.Text
	role                     string
	query                    probe.Text
	ranges                   probe.Ranges
	anybody                  bool // a refused login is healthy: the server answers
}

// Check is check_pgsql.
func Check(f *probe.Flags) func() (probe.Probe, error) {
	c := &check{server: wire.Server{Port: 5432}, database: "template1", role: "any"}
	f.Host(&c.server.Host, "H hostname")
	f.Port(&c.server.Port, "P port")
	f.Version(&c.server.Version)
	f.Text(&c.user, "l logname")
	f.Secret(&c.password, "p password")
	f.Text(&c.database, "d database")
	f.Text(&c.query, "q query")
	for _, names := range []string{"W query_warning", "C query_critical"} {
		f.Value(names, func(v string) error {
			r, err := probe.ReadRange(v)
			c.ranges = append(c.ranges, r)
			return err
		})
	}
	f.Bool(&c.anybody, "ignore-auth")
	f.Value("role", func(v string) error {
		if c.role = v; v != "primary" && v != "standby" && v != "any" {
			return fmt.Errorf("%q is no role: primary, standby or any", v)
		}
		return nil
	})
	f.Bool(&c.server.Secure, "S ssl")
	c.server.TLS.Flags(f, "")
	f.Times()
	return func() (probe.Probe, error) {
		switch {
		case c.user == "":
			return nil, errors.New("a user is missing: -l, and -p; with --ignore-auth a refused log-in will do")
		case c.anybody && (c.role != "any" || c.query != ""):
			return nil, errors.New("a server that refuses the log-in tells neither role nor values")
		case len(c.ranges) > 0 && c.query == "":
			return nil, errors.New("-W and -C are for the value of a query: -q")
		}
		return c, nil
	}
}

// Run executes the probe once.
func (c *check) Run(ctx context.Context, n probe.Network, to probe.Target, say probe.Say) error {
	config, err := c.config(ctx, n, to, say)
	if err != nil {
		return err
	}
	conn, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return c.refused(err, to, say)
	}
	// Waiting for the server to end the conversation ends with the check.
	defer conn.Close(ctx)
	say("logged in, version %s", conn.ParameterStatus("server_version"))
	probe.Step(ctx, "role")
	if err := c.judgeRole(ctx, conn, say); err != nil || c.query == "" {
		return err
	}
	probe.Step(ctx, "query")
	value, err := first(ctx, conn, c.query.For(to))
	if err != nil {
		return err
	}
	say("the query was answered %s", value)
	if len(c.ranges) == 0 {
		return nil
	}
	x, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil {
		return fmt.Errorf("answered %q, which is no number", probe.Line(value))
	}
	return c.ranges.Judge("the value of the query", x)
}

// config returns a configuration without any value from the environment of this process: it
// sets everything that matters itself.
func (c *check) config(ctx context.Context, n probe.Network, to probe.Target, say probe.Say) (*pgconn.Config, error) {
	config, err := pgconn.ParseConfig("host=localhost port=1 user=x password=x dbname=x sslmode=disable passfile=/dev/null servicefile=/dev/null connect_timeout=0 target_session_attrs=any")
	if err != nil {
		return nil, errors.New("the environment of Sluice has settings of PostgreSQL that cannot be read")
	}
	host, port, err := net.SplitHostPort(c.server.Address(to))
	if err != nil {
		return nil, err
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, err
	}
	config.Host, config.Port, config.Fallbacks = host, uint16(number), nil
	config.User, config.Password, config.Database = c.user.For(to), string(c.password), c.database.For(to)
	config.RuntimeParams = map[string]string{"application_name": "sluice", "default_transaction_read_only": "on"}
	config.MaxProtocolMessageBodyLen = wire.Most
	config.ValidateConnect, config.AfterConnect = nil, nil
	// The network resolves names, if there are any.
	config.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil }
	config.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) {
		conn, err := c.server.Dial(ctx, n, to, say)
		if err != nil {
			return nil, err
		}
		if !c.server.Secure {
			probe.Step(ctx, "login")
			return conn, nil
		}
		probe.Step(ctx, "SSLRequest")
		return &upgrading{Conn: conn, ctx: ctx}, nil
	}
	if c.server.Secure {
		config.TLSConfig = wire.Then(c.server.Config(to), func() { probe.Step(ctx, "login") })
	}
	return config, nil
}

// upgrading is a connection on which TLS begins after one byte of the server, which accepts
// TLS (SSLRequest).
type upgrading struct {
	net.Conn
	ctx    context.Context
	agreed bool
}

// Read reads.
func (u *upgrading) Read(b []byte) (int, error) {
	n, err := u.Conn.Read(b)
	if n > 0 && !u.agreed {
		if u.agreed = true; b[0] == 'S' {
			probe.Step(u.ctx, wire.TLSHandshake)
		}
	}
	return n, err
}

// refused returns the reason of a server that refused the login.
func (c *check) refused(err error, to probe.Target, say probe.Say) error {
	var p *pgconn.PgError
	if !errors.As(err, &p) {
		return c.plain(err, to)
	}
	const invalidAuthorization = "28" // the class of such errors
	if c.anybody && strings.HasPrefix(p.Code, invalidAuthorization) {
		say("the log-in was refused, which will do")
		return nil
	}
	return fmt.Errorf("the server refused: %s %s", p.Code, probe.Line(p.Message))
}

// plain removes the prefix of the library with user, database and address from an error.
func (c *check) plain(err error, to probe.Target) error {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(inner) {
		err = inner
		var connect *pgconn.ConnectError
		if !errors.As(err, &connect) {
			break
		}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return io.EOF
	}
	if inner := (*net.OpError)(nil); errors.As(err, &inner) {
		return inner
	}
	text := err.Error()
	if after, is := strings.CutPrefix(text, c.server.Address(to)+" ("); is {
		_, text, _ = strings.Cut(after, "): ")
	}
	return probe.Unread(errors.New(text))
}

func (c *check) judgeRole(ctx context.Context, conn *pgconn.PgConn, say probe.Say) error {
	if c.role == "any" {
		return nil
	}
	recovers, err := first(ctx, conn, "SELECT pg_is_in_recovery()")
	if err != nil {
		return err
	}
	role := map[string]string{"t": "standby", "f": "primary"}[recovers]
	say("the server is a %s", role)
	if role != c.role {
		return fmt.Errorf("the server is a %s, wanted a %s", role, c.role)
	}
	return nil
}

// first returns the first value of a query.
func first(ctx context.Context, conn *pgconn.PgConn, query string) (string, error) {
	answer := conn.ExecParams(ctx, query, nil, nil, nil, nil).Read()
	if p := (*pgconn.PgError)(nil); errors.As(answer.Err, &p) {
		return "", fmt.Errorf("the server refused: %s %s", p.Code, probe.Line(p.Message))
	}
	if answer.Err != nil {
		return "", answer.Err
	}
	if len(answer.Rows) == 0 || len(answer.Rows[0]) == 0 {
		return "", errors.New("there is no value")
	}
	return string(answer.Rows[0][0]), nil
}

// Package mysql checks whether MySQL and MariaDB let a user log in and answer a ping.
package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"

	"github.com/go-sql-driver/mysql"

	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/wire"
)

type check struct {
	server                   wire.Server
	user, password, database probe.Text
	anybody                  bool // a refused login is healthy: the server answers
}

// Check is check_mysql.
func Check(f *probe.Flags) func() (probe.Probe, error) {
	c := &check{server: wire.Server{Port: 3306}}
	f.Host(&c.server.Host, "H hostname")
	f.Port(&c.server.Port, "P port")
	f.Version(&c.server.Version)
	f.Text(&c.user, "u username")
	f.Secret(&c.password, "p password")
	f.Text(&c.database, "d database")
	f.Bool(&c.anybody, "n ignore-auth")
	f.Bool(&c.server.Secure, "l ssl")
	c.server.TLS.Flags(f, "")
	f.Times()
	return func() (probe.Probe, error) {
		if c.user == "" && !c.anybody {
			return nil, errors.New("a user is missing: -u, and -p; or -n, for which a refused log-in will do")
		}
		return c, nil
	}
}

// Run executes the probe once.
func (c *check) Run(ctx context.Context, n probe.Network, to probe.Target, say probe.Say) error {
	seen := &packets{}
	connector, err := mysql.NewConnector(c.config(ctx, n, to, say, seen))
	if err != nil {
		return err
	}
	conn, err := connector.Connect(ctx)
	if err != nil {
		return c.refused(seen.reason(err), say)
	}
	defer conn.Close()
	say("logged in")
	probe.Step(ctx, "ping")
	if err := conn.(driver.Pinger).Ping(ctx); err != nil {
		return seen.reason(err)
	}
	say("the ping was answered")
	return nil
}

func (c *check) config(ctx context.Context, n probe.Network, to probe.Target, say probe.Say, seen *packets) *mysql.Config {
	config := mysql.NewConfig()
	config.Net, config.Addr = "tcp", c.server.Address(to)
	config.User, config.Passwd, config.DBName = c.user.For(to), string(c.password), c.database.For(to)
	config.Logger = &mysql.NopLogger{}
	config.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) {
		conn, err := c.server.Dial(ctx, n, to, say)
		if err != nil {
			return nil, err
		}
		probe.Step(ctx, "greeting")
		*seen = packets{Conn: conn, ctx: ctx, secure: c.server.Secure}
		return seen, nil
	}
	if c.server.Secure {
		config.TLS = wire.Then(c.server.Config(to), func() { probe.Step(ctx, "login") })
	}
	return config
}

// The errors of a server that refuses a login.
const (
	accessDenied, accessDeniedDatabase, accessDeniedNoPassword, accessDeniedPlugin = 1045, 1044, 1698, 1251
)

func (c *check) refused(err error, say probe.Say) error {
	var m *mysql.MySQLError
	if !errors.As(err, &m) {
		return err
	}
	switch m.Number {
	case accessDenied, accessDeniedDatabase, accessDeniedNoPassword, accessDeniedPlugin:
		if c.anybody {
			say("the log-in was refused, which will do")
			return nil
		}
	}
	return fmt.Errorf("the server refused: %d %s", m.Number, probe.Line(m.Message))
}

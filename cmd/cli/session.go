package cli

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/show"
)

func (c *client) sessionCommand() *cobra.Command {
	return parentCommand("session", "Show and change client sessions (persistence)", `  sluice session list shop web --limit 20
  sluice session list shop web --session 192.0.2.7
  sluice session create shop web 192.0.2.7 1
  sluice session create dns 192.0.2.7 0
  sluice session delete shop web 192.0.2.7
  sluice session flush shop web`,
		c.sessionList(), c.sessionCreate(), c.sessionDelete(), c.sessionFlush())
}

type session struct {
	Session, Service, Type string
	ID                     int
	IP                     string `json:"backend_ip"`
	Port                   *int   `json:"backend_port"`
	TTL                    *string
}

func (c *client) sessionList() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list FARM [SERVICE]", Short: "List sessions: static ones first, at most 1000",
		Example: "  sluice session list shop web\n  sluice session list shop web --session 192.0.2.7 --json\n  sluice session list dns",
		Args:    between(1, 2), ValidArgsFunction: c.completeOwner(nil, nil),
	}
	limit := cmd.Flags().Int("limit", 100, "maximum number of sessions, 1 to 1000")
	one := cmd.Flags().String("session", "", "only this session: a client's address, cookie, header, parameter or user, or the session key of an l4xnat farm")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *limit < 1 || *limit > 1000 {
			return usagef("--limit must be a number from 1 to 1000, got %d", *limit)
		}
		query := url.Values{"limit": {strconv.Itoa(*limit)}}
		if *one != "" {
			query.Set("session", *one)
		}
		o, _, err := c.owner(cmd.Context(), args, 0)
		if err != nil {
			return err
		}
		a, err := c.sessions(cmd, http.MethodGet, o, query)
		if err != nil || c.json {
			return c.orJSON(cmd, a, err)
		}
		var body struct {
			Params []session
			Total  int `json:"total_sessions"`
		}
		if err := a.into(&body); err != nil {
			return err
		}
		s := show.NewSheet("SESSION", "TYPE", "BACKEND", "IP", "PORT", "TTL")
		for _, v := range body.Params {
			s.Add(v.Session, v.Type, v.ID, v.IP, opt(v.Port), opt(v.TTL))
		}
		if err := c.print(cmd, s); err != nil || body.Total == len(body.Params) {
			return err
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d of %d sessions\n", len(body.Params), body.Total)
		return err
	}
	return cmd
}

// sessions requests or deletes the sessions of an owner.
func (c *client) sessions(cmd *cobra.Command, method string, o owner, query url.Values) (answer, error) {
	path, err := o.path("sessions")
	if err != nil {
		return answer{}, err
	}
	return c.do(cmd.Context(), request{method: method, path: path, query: query})
}

func (c *client) sessionCreate() *cobra.Command {
	cmd := &cobra.Command{
		Use: "create FARM [SERVICE] SESSION BACKEND", Short: "Assign a client to a backend",
		Long: `Assign a client to a backend by a static session, which lasts until it is
deleted. With --ttl it is an ordinary session, which ends after that many
seconds without use.`,
		Example: "  sluice session create shop web 192.0.2.7 10.0.0.2:8080\n  sluice session create dns '192.0.2.7 . 4022' 1\n  sluice session create dns 192.0.2.7 0 --ttl 300",
		Args:    between(3, 4), ValidArgsFunction: c.completeOwner([]argument{aWord, aBackend}, nil),
	}
	ttl := cmd.Flags().Int("ttl", 0, "idle lifetime of the session in seconds (default static)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o, rest, err := c.owner(cmd.Context(), args, 2)
		if err != nil {
			return err
		}
		path, err := o.path("sessions")
		if err != nil {
			return err
		}
		number, err := c.number(cmd.Context(), o, rest[1])
		if err != nil {
			return err
		}
		fields := map[string]any{"id": number, "session": rest[0]}
		if cmd.Flags().Changed("ttl") {
			fields["ttl"] = *ttl
		}
		a, err := c.send(cmd.Context(), http.MethodPost, path, fields)
		return c.orSay(cmd, a, err)
	}
	return cmd
}

func (c *client) sessionDelete() *cobra.Command {
	return &cobra.Command{
		Use: "delete FARM [SERVICE] SESSION", Short: "Delete a session, static or not; the client's next request is balanced", Example: "  sluice session delete shop web 192.0.2.7\n  sluice session delete dns 192.0.2.7",
		Args: between(2, 3), ValidArgsFunction: c.completeOwner([]argument{aWord}, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[len(args)-1] == "" {
				return usagef("SESSION must not be empty: `sluice session flush` deletes all")
			}
			o, rest, err := c.owner(cmd.Context(), args, 1)
			if err != nil {
				return err
			}
			a, err := c.sessions(cmd, http.MethodDelete, o, url.Values{"session": rest[:1]})
			return c.orSay(cmd, a, err)
		},
	}
}

func (c *client) sessionFlush() *cobra.Command {
	return &cobra.Command{
		Use: "flush FARM [SERVICE]", Short: "Delete all sessions except static ones", Example: "  sluice session flush shop web\n  sluice session flush dns",
		Args: between(1, 2), ValidArgsFunction: c.completeOwner(nil, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, _, err := c.owner(cmd.Context(), args, 0)
			if err != nil {
				return err
			}
			a, err := c.sessions(cmd, http.MethodDelete, o, nil)
			return c.orSay(cmd, a, err)
		},
	}
}

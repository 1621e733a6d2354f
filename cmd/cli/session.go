package cli

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/cmd/cli/show"
)

func sessionCommand(c *command.Line) *cobra.Command {
	return command.Parent("session", "Show and change client sessions (persistence)", `  sluice session list shop web --limit 20
  sluice session list shop web --session 192.0.2.7
  sluice session create shop web 192.0.2.7 1
  sluice session create dns 192.0.2.7 0
  sluice session delete shop web 192.0.2.7
  sluice session flush shop web`,
		sessionList(c), sessionCreate(c), sessionDelete(c), sessionFlush(c))
}

type session struct {
	Session, Service, Type string
	ID                     int
	IP                     string `json:"backend_ip"`
	Port                   *int   `json:"backend_port"`
	TTL                    *string
}

func sessionList(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list FARM [SERVICE]", Short: "List sessions: static ones first, at most 1000",
		Example: "  sluice session list shop web\n  sluice session list shop web --session 192.0.2.7 --json\n  sluice session list dns",
		Args:    command.Between(1, 2), ValidArgsFunction: completeOwner(c, nil, nil),
	}
	limit := cmd.Flags().Int("limit", 100, "maximum number of sessions, 1 to 1000")
	one := cmd.Flags().String("session", "", "only this session: a client's address, cookie, header, parameter or user, or the session key of an l4xnat farm")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *limit < 1 || *limit > 1000 {
			return command.Usagef("--limit must be a number from 1 to 1000, got %d", *limit)
		}
		query := url.Values{"limit": {strconv.Itoa(*limit)}}
		if *one != "" {
			query.Set("session", *one)
		}
		o, _, err := parseOwner(c, cmd.Context(), args, 0)
		if err != nil {
			return err
		}
		a, err := requestSessions(c, cmd, http.MethodGet, o, query)
		if err != nil || c.JSON {
			return c.FinishJSON(cmd, a, err)
		}
		var body struct {
			Params []session
			Total  int `json:"total_sessions"`
		}
		if err := a.Decode(&body); err != nil {
			return err
		}
		s := show.NewSheet("SESSION", "TYPE", "BACKEND", "IP", "PORT", "TTL")
		for _, v := range body.Params {
			s.Add(v.Session, v.Type, v.ID, v.IP, command.Optional(v.Port), command.Optional(v.TTL))
		}
		if err := c.Print(cmd, s); err != nil || body.Total == len(body.Params) {
			return err
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d of %d sessions\n", len(body.Params), body.Total)
		return err
	}
	return cmd
}

// requestSessions requests or deletes the sessions of an owner.
func requestSessions(c *command.Line, cmd *cobra.Command, method string, o owner,
	query url.Values) (client.Response, error) {
	path, err := o.path("sessions")
	if err != nil {
		return client.Response{}, err
	}
	return c.Do(cmd.Context(), client.Request{Method: method, Path: path, Query: query})
}

func sessionCreate(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "create FARM [SERVICE] SESSION BACKEND", Short: "Assign a client to a backend",
		Long: `Assign a client to a backend by a static session, which lasts until it is
deleted. With --ttl it is an ordinary session, which ends after that many
seconds without use.`,
		Example: "  sluice session create shop web 192.0.2.7 10.0.0.2:8080\n  sluice session create dns '192.0.2.7 . 4022' 1\n  sluice session create dns 192.0.2.7 0 --ttl 300",
		Args:    command.Between(3, 4), ValidArgsFunction: completeOwner(c,
			[]command.Argument{command.FreeText, command.BackendID}, nil),
	}
	ttl := cmd.Flags().Int("ttl", 0, "idle lifetime of the session in seconds (default static)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o, rest, err := parseOwner(c, cmd.Context(), args, 2)
		if err != nil {
			return err
		}
		path, err := o.path("sessions")
		if err != nil {
			return err
		}
		number, err := backendNumber(c, cmd.Context(), o, rest[1])
		if err != nil {
			return err
		}
		fields := map[string]any{"id": number, "session": rest[0]}
		if cmd.Flags().Changed("ttl") {
			fields["ttl"] = *ttl
		}
		a, err := c.Send(cmd.Context(), http.MethodPost, path, fields)
		return c.Finish(cmd, a, err)
	}
	return cmd
}

func sessionDelete(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "delete FARM [SERVICE] SESSION", Short: "Delete a session, static or not; the client's next request is balanced", Example: "  sluice session delete shop web 192.0.2.7\n  sluice session delete dns 192.0.2.7",
		Args: command.Between(2, 3), ValidArgsFunction: completeOwner(c, []command.Argument{command.FreeText}, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[len(args)-1] == "" {
				return command.Usagef("SESSION must not be empty: `sluice session flush` deletes all")
			}
			o, rest, err := parseOwner(c, cmd.Context(), args, 1)
			if err != nil {
				return err
			}
			a, err := requestSessions(c, cmd, http.MethodDelete, o, url.Values{"session": rest[:1]})
			return c.Finish(cmd, a, err)
		},
	}
}

func sessionFlush(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "flush FARM [SERVICE]", Short: "Delete all sessions except static ones", Example: "  sluice session flush shop web\n  sluice session flush dns",
		Args: command.Between(1, 2), ValidArgsFunction: completeOwner(c, nil, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, _, err := parseOwner(c, cmd.Context(), args, 0)
			if err != nil {
				return err
			}
			a, err := requestSessions(c, cmd, http.MethodDelete, o, nil)
			return c.Finish(cmd, a, err)
		},
	}
}

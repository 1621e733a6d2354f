package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/cmd/cli/show"
)

type backend struct {
	ID                              int
	IP, Status                      string
	Port, Weight, Priority, Timeout *int
	Connect                         *int `json:"contimeout"`
	Configured, Maintenance, Actual string
	Problem                         string
	Alias, Source                   *string
	ConnectionLimit                 *int `json:"connection_limit"`
	MaxConns                        *int `json:"max_conns"` // name in l4xnat farms
	Mark                            *uint32
	ServerNames                     []string `json:"server_names"`
	Resolution                      *resolution
}

func (b backend) limit() any {
	if b.MaxConns != nil && *b.MaxConns > 0 {
		return *b.MaxConns
	}
	return command.Optional(b.ConnectionLimit)
}

// address returns the backend's address for display.
func (b backend) address() string {
	if b.Port == nil {
		return b.IP
	}
	return fmt.Sprintf("%s port %d", b.IP, *b.Port)
}

// backendSheet returns a table of the backends of services, or of an l4xnat farm, which has
// one unnamed group.
func backendSheet(services []service) *show.Sheet {
	heading := []string{"SERVICE", "ID", "STATUS", "IP", "PORT", "WEIGHT", "PRIORITY", "LIMIT", "ALIAS"}
	named := slices.ContainsFunc(services, func(v service) bool { return v.ID != "" })
	s := show.NewSheet(heading[skip(named):]...)
	for _, v := range services {
		for _, b := range v.Backends {
			s.Add([]any{v.ID, b.ID, b.Status, shownAddress(b.IP, b.Resolution), command.Optional(b.Port),
				command.Optional(b.Weight),
				command.Optional(b.Priority), b.limit(), command.Optional(b.Alias)}[skip(named):]...)
		}
		if len(v.Backends) == 0 && named {
			s.Add(v.ID, "", "", v.Redirect)
		}
	}
	return s
}

// skip returns the number of leading columns that a table without service names omits.
func skip(named bool) int {
	if named {
		return 0
	}
	return 1
}

func showBackend(c *command.Line, cmd *cobra.Command, b backend, at int, a client.Response) error {
	if c.JSON {
		var body struct {
			Description string
			Params      []json.RawMessage
		}
		if err := a.Decode(&body); err != nil {
			return err
		}
		return c.PrintEnvelope(cmd, command.Envelope{Description: body.Description, Params: body.Params[at]})
	}
	limit := "connection_limit"
	if b.MaxConns != nil || b.ServerNames != nil {
		limit = "max_conns"
	}
	s := show.NewSheet("SETTING", "VALUE")
	for _, line := range []struct {
		name  string
		value any
	}{
		{"id", b.ID}, {"status", b.Status}, {"configured", b.Configured}, {"maintenance", b.Maintenance}, {"actual", b.Actual}, {"ip", b.IP}, {"port", command.Optional(b.Port)},
		{"weight", command.Optional(b.Weight)}, {"priority", command.Optional(b.Priority)}, {limit, b.limit()},
		{"timeout", command.Optional(b.Timeout)}, {"contimeout", command.Optional(b.Connect)}, {"source", command.Optional(b.Source)}, {"mark", command.Optional(b.Mark)}, {"alias", command.Optional(b.Alias)},
		{"server_names", strings.Join(b.ServerNames, ", ")},
	} {
		if strings.HasSuffix(line.name, "timeout") && limit == "max_conns" || line.name == "server_names" && limit != "max_conns" {
			continue // belongs to another kind of farm
		}
		s.Add(line.name, line.value)
	}
	for _, line := range b.Resolution.lines() {
		s.Add(line[:]...)
	}
	if b.Problem != "" {
		s.Add("problem", b.Problem)
	}
	s.AlignLeft()
	return c.Print(cmd, s)
}

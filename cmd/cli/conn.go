package cli

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/cmd/cli/show"
)

func connCommand(c *command.Line) *cobra.Command {
	return command.Parent("conn", "Show and end the connections of l4xnat farms", `  sluice conn list
  sluice conn list dns --backend 0 --limit 20
  sluice conn flush dns --backend 0
  sluice conn flush dns`,
		connList(c), connFlush(c))
}

// connection is a connection of an l4xnat farm.
type connection struct {
	Farm, Protocol, State, Client, VIP string
	ID, Timeout                        int
	ClientPort                         int    `json:"client_port"`
	VPort                              int    `json:"vport"`
	BackendIP                          string `json:"backend_ip"`
	BackendPort                        int    `json:"backend_port"`
	BytesIn                            uint64 `json:"bytes_in"`
	BytesOut                           uint64 `json:"bytes_out"`
}

// connQuery parses the farm and --backend.
func connQuery(c *command.Line, cmd *cobra.Command, args []string) (url.Values, error) {
	query := url.Values{}
	if len(args) == 1 {
		query.Set("farm", args[0])
	}
	if backend, _ := cmd.Flags().GetString("backend"); cmd.Flags().Changed("backend") {
		if len(args) == 0 {
			return nil, command.Usagef("--backend needs a farm; usage: %s", command.UsageLine(cmd))
		}
		number, err := backendNumber(c, cmd.Context(), owner{farm: args[0]}, backend)
		if err != nil {
			return nil, err
		}
		query.Set("backend", number)
	}
	return query, nil
}

func connList(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list [FARM]", Short: "List connections, at most 1000",
		Example: "  sluice conn list dns\n  sluice conn list dns --backend 1 --json",
		Args:    command.AtMost(1), ValidArgsFunction: c.Completer(command.OneFarm, nil),
	}
	backendFlag(c, cmd)
	limit := cmd.Flags().Int("limit", 100, "maximum number of connections, 1 to 1000")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *limit < 1 || *limit > 1000 {
			return command.Usagef("--limit must be a number from 1 to 1000, got %d", *limit)
		}
		query, err := connQuery(c, cmd, args)
		if err != nil {
			return err
		}
		query.Set("limit", strconv.Itoa(*limit))
		a, err := c.Do(cmd.Context(), client.Request{Method: http.MethodGet, Path: "/connections", Query: query})
		if err != nil || c.JSON {
			return c.FinishJSON(cmd, a, err)
		}
		var body struct {
			Params  []connection
			Total   int `json:"total_connections"`
			Warning string
		}
		if err := a.Decode(&body); err != nil {
			return err
		}
		command.Warn(cmd, body.Warning)
		s := show.NewSheet("FARM", "BACKEND", "PROTOCOL", "STATE", "CLIENT", "VIP", "SERVER", "TIMEOUT", "IN", "OUT")
		for _, v := range body.Params {
			s.Add(v.Farm, v.ID, v.Protocol, v.State, endpoint(v.Client, v.ClientPort), endpoint(v.VIP, v.VPort),
				endpoint(v.BackendIP, v.BackendPort),
				v.Timeout, show.Size(v.BytesIn), show.Size(v.BytesOut))
		}
		if err := c.Print(cmd, s.AlignRight(8, 9)); err != nil || body.Total == len(body.Params) {
			return err
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d of %d connections\n", len(body.Params), body.Total)
		return err
	}
	return cmd
}

// backendFlag adds --backend with completion.
func backendFlag(c *command.Line, cmd *cobra.Command) {
	cmd.Flags().String("backend", "", "only connections to this backend of the farm (number or address)")
	cmd.RegisterFlagCompletionFunc("backend", func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return completeOwner(c, ownedBackend, nil)(cmd, args, "")
	})
}

// endpoint returns an address with its port, if the protocol has ports.
func endpoint(address string, port int) string {
	if port == 0 {
		return address
	}
	return net.JoinHostPort(address, strconv.Itoa(port))
}

func connFlush(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "flush [FARM]", Short: "End the connections of an l4xnat farm, of one of its backends, or of all farms",
		Example: "  sluice conn flush dns\n  sluice conn flush dns --backend 1",
		Args:    command.AtMost(1), ValidArgsFunction: c.Completer(command.OneFarm, nil),
	}
	backendFlag(c, cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		query, err := connQuery(c, cmd, args)
		if err != nil {
			return err
		}
		a, err := c.Do(cmd.Context(), client.Request{Method: http.MethodDelete, Path: "/connections", Query: query})
		return c.Finish(cmd, a, err)
	}
	return cmd
}

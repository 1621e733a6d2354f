package cli

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/cmd/cli/show"
)

// questions is the sample of a gslb farm's queries.
type questions struct {
	Seconds   float64
	Questions uint64
	Names     []struct {
		Name, Type string
		Times      uint64
	}
	Clients []struct {
		Client string
		Times  uint64
	}
	Rcodes []struct {
		Rcode string
		Times uint64
	}
	Services []struct {
		Service string
		Times   uint64
	}
}

func questionsCommand(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "questions FARM", Short: "Count the queries to a gslb farm: top names, clients and response codes",
		Long: `Count the queries to a gslb farm for some seconds: the most frequent names and
types, the busiest clients (usually resolvers), response codes, and the services
that chose the addresses. Queries are counted only while this command runs, so
they cost nothing otherwise. Messages dropped by a limit, and messages that are
not queries, are in the farm's statistics.`,
		Example: "  sluice questions names\n  sluice questions names --for 20s --most 50\n  sluice questions names --json",
		Args:    command.Exactly(1), ValidArgsFunction: c.Completer(command.OneFarm, nil),
	}
	limit := cmd.Flags().Duration("for", 5*time.Second, "counting period, 1s to 30s")
	most := cmd.Flags().Int("most", 10, "maximum number of names and clients")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		path, err := client.Path("farms", args[0], "questions")
		if err != nil {
			return err
		}
		query := url.Values{"seconds": {strconv.Itoa(int(limit.Round(time.Second).Seconds()))}, "most": {strconv.Itoa(*most)}}
		a, err := c.Do(cmd.Context(), client.Request{Method: http.MethodGet, Path: path, Query: query,
			Timeout: *limit + client.Timeout})
		if err != nil || c.JSON {
			return c.FinishJSON(cmd, a, err)
		}
		var body struct{ Params questions }
		if err := a.Decode(&body); err != nil {
			return err
		}
		return printQuestions(c, cmd, &body.Params)
	}
	return cmd
}

// printQuestions prints the counts: a table for each kind with data.
func printQuestions(c *command.Line, cmd *cobra.Command, q *questions) error {
	if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%d queries in %.0f seconds\n", q.Questions, q.Seconds); err != nil || q.Questions == 0 {
		return err
	}
	share := func(n uint64) string { return fmt.Sprintf("%.1f%%", float64(n)*100/float64(q.Questions)) }
	counted := func(what string) *show.Sheet { return show.NewSheet(what, "TIMES", "SHARE").AlignRight(2) }
	names, clients, codes, services := show.NewSheet("NAME", "TYPE", "TIMES", "SHARE").AlignRight(3), counted("CLIENT"), counted("RCODE"), counted("SERVICE")
	for _, n := range q.Names {
		names.Add(n.Name, n.Type, n.Times, share(n.Times))
	}
	for _, n := range q.Clients {
		clients.Add(n.Client, n.Times, share(n.Times))
	}
	for _, n := range q.Rcodes {
		codes.Add(n.Rcode, n.Times, share(n.Times))
	}
	sheets := []*show.Sheet{names, clients, codes}
	if len(q.Services) > 0 {
		for _, n := range q.Services {
			services.Add(n.Service, n.Times, share(n.Times))
		}
		sheets = append(sheets, services)
	}
	for _, s := range sheets {
		if _, err := fmt.Fprintln(cmd.OutOrStdout()); err != nil {
			return err
		}
		if err := c.Print(cmd, s); err != nil {
			return err
		}
	}
	return nil
}

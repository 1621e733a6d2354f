package cli

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/cmd/cli/show"
)

// graphWidth is the maximum width of a drawn series.
const graphWidth = 60

// drawnSeries is a time series in a response; nil values are unknown.
type drawnSeries struct {
	Name, Unit string
	Values     []*float64
}

func graphCommand(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "graph [FARM [SERVICE]]", Short: "Draw metrics of a farm, a service or the machine over time",
		Long: "Draw metrics of a farm, a service or the machine over time: one line for each,\n" +
			"with its minimum, mean, maximum and last value.\n\n" +
			"Values are kept every 5 seconds for an hour, every minute for a day, every\n" +
			"5 minutes for a week and every hour for a year.",
		Example: "  sluice graph\n  sluice graph shop\n  sluice graph shop web --last 1d",
		Args:    command.AtMost(2), ValidArgsFunction: c.Completer([]command.Argument{command.FarmName,
			command.ServiceName}, nil),
	}
	last := cmd.Flags().String("last", "1h", "period up to now, e.g. 15m, 6h or 7d")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		parts := []string{"stats", "system", "series"}
		switch len(args) {
		case 1:
			parts = []string{"stats", "farms", args[0], "series"}
		case 2:
			parts = []string{"stats", "farms", args[0], "services", args[1], "series"}
		}
		path, err := client.Path(parts...)
		if err != nil {
			return err
		}
		a, err := c.Get(cmd.Context(), path+"?last="+url.QueryEscape(*last))
		if err != nil || c.JSON {
			return c.FinishJSON(cmd, a, err)
		}
		var body struct {
			Params struct {
				Start  time.Time
				Step   int
				Series []drawnSeries
			}
		}
		if err := a.Decode(&body); err != nil {
			return err
		}
		return c.Print(cmd, drawn(body.Params.Series))
	}
	return cmd
}

// drawn returns a table with a drawn line for each series.
func drawn(series []drawnSeries) *show.Sheet {
	s := show.NewSheet("NUMBER", "UNIT", "LEAST", "MEAN", "LARGEST", "LAST", "OVER TIME")
	for _, of := range series {
		least, mean, largest, last := overall(of.Values)
		s.Add(of.Name, of.Unit, of.shown(least), of.shown(mean), of.shown(largest), of.shown(last), line(of.Values, largest))
	}
	return s.AlignRight(2, 3, 4, 5)
}

// overall returns statistics; they are nil without values.
func overall(values []*float64) (least, mean, largest, last *float64) {
	sum, n := 0.0, 0
	for _, v := range values {
		if v == nil {
			continue
		}
		if least == nil || *v < *least {
			least = v
		}
		if largest == nil || *v > *largest {
			largest = v
		}
		sum, n, last = sum+*v, n+1, v
	}
	if n > 0 {
		sum /= float64(n)
		mean = &sum
	}
	return least, mean, largest, last
}

// shown formats a value in its unit.
func (s drawnSeries) shown(v *float64) any {
	switch {
	case v == nil:
		return nil
	case strings.HasPrefix(s.Unit, "B"):
		return show.Size(uint64(*v))
	case s.Unit == "s":
		return time.Duration(*v * float64(time.Second)).Round(10 * time.Microsecond).String()
	case *v == 0:
		return "0"
	case *v < 10:
		return fmt.Sprintf("%.2f", *v)
	}
	return fmt.Sprintf("%.0f", *v)
}

// bars are heights from none to the maximum.
var bars = []rune("▁▂▃▄▅▆▇█")

// line draws values as at most graphWidth bars, each the maximum of its share of the time. A
// blank means unknown.
func line(values []*float64, largest *float64) string {
	var out strings.Builder
	n := min(len(values), graphWidth)
	for i := range n {
		_, _, top, _ := overall(values[i*len(values)/n : (i+1)*len(values)/n])
		switch {
		case top == nil:
			out.WriteByte(' ')
		case *largest == 0:
			out.WriteRune(bars[0])
		default:
			out.WriteRune(bars[min(int(*top / *largest * float64(len(bars))), len(bars)-1)])
		}
	}
	return out.String()
}

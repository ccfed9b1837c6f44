package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/client"
	"github.com/stratamem/strata/internal/program/cli/terminal"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/program/diskspace"
)

// doctorCmd checks what commonly goes wrong.
type doctorCmd struct {
	settings
}

// finding is the outcome of one check.
type finding struct {
	Check  string `json:"check"`
	Status string `json:"status"` // ok, warn or fail
	Text   string `json:"text"`
	Fix    string `json:"fix,omitempty"`
}

func ok(format string, args ...any) finding {
	return finding{Status: "ok", Text: fmt.Sprintf(format, args...)}
}

func warn(text, fix string) finding { return finding{Status: "warn", Text: text, Fix: fix} }

func failed(text, fix string) finding { return finding{Status: "fail", Text: text, Fix: fix} }

// Run makes every check and fails when one did.
func (c *doctorCmd) Run(r *terminal.Run) error {
	cfg, err := c.load(r)
	all := []finding{named("configuration", checkConfig(cfg, err))}
	all = append(all, checkServer(r, cfg)...)
	if isLocal(r.Options.Server) && cfg.Primary() == config.PrimarySQLite {
		all = append(all, named("data directory", checkDirectory(cfg)), named("disk space", checkDisk(cfg)))
	}
	return report(r, all)
}

func named(check string, f finding) finding {
	f.Check = check
	return f
}

func report(r *terminal.Run, all []finding) error {
	if r.Output == "json" {
		if err := r.ShowValue(all); err != nil {
			return err
		}
	}
	bad := false
	p := r.Palette()
	paint := map[string]func(string) string{"ok": p.Green, "warn": p.Yellow, "fail": p.Red}
	for _, f := range all {
		bad = bad || f.Status == "fail"
		if r.Output != "table" {
			continue
		}
		fmt.Fprintf(r.Env.Stdout, "%s  %-15s %s\n", paint[f.Status](fmt.Sprintf("%-4s", f.Status)), f.Check, terminal.Clean(f.Text))
		if f.Fix != "" {
			fmt.Fprintf(r.Env.Stdout, "      %-15s %s\n", "", p.Dim("fix: "+terminal.Clean(f.Fix)))
		}
	}
	if bad {
		return terminal.ErrReported
	}
	return nil
}

func checkConfig(cfg config.Loaded, err error) finding {
	if err != nil {
		return failed(err.Error(), "mend the settings named above; strata config reference lists all")
	}
	if cfg.File == "" {
		return ok("valid, without a file")
	}
	return ok("valid, with %s", cfg.File)
}

// checkServer asks a running server. Without one the other checks of it make no sense.
func checkServer(r *terminal.Run, cfg config.Loaded) []finding {
	token, err := r.Token()
	if err != nil {
		return []finding{named("credential", failed(err.Error(), "name a file that can be read"))}
	}
	conn, err := terminal.Dial(terminal.Server{Address: r.Options.Server, CA: r.Options.CA}, token)
	if err != nil {
		return []finding{named("server", failed(err.Error(), "name the server as host:port"))}
	}
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithTimeout(r.Ctx, r.Timeout)
	defer cancel()
	health := named("server", checkHealth(ctx, r, conn))
	if health.Status == "fail" {
		return []finding{health}
	}
	if f := checkCredential(ctx, r, conn); f.Status == "fail" {
		return []finding{health, named("credential", f)}
	}
	all := []finding{
		health, named("API", checkAPI(ctx, r, conn)), named("clock", checkClock(ctx, r, conn)), named("parked jobs", checkJobs(ctx, conn)),
	}
	if isLocal(r.Options.Server) {
		all = append(all, checkMetrics(ctx, cfg)...)
	}
	return all
}

func checkHealth(ctx context.Context, r *terminal.Run, server *client.Client) finding {
	reply, err := grpc_health_v1.NewHealthClient(server.Conn()).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	if err != nil {
		return failed("no answer from "+r.Options.Server+": "+terminal.FaultText(err), terminal.ConnectHint(r.Options.Server, terminal.FaultText(err)))
	}
	if s := reply.GetStatus(); s != grpc_health_v1.HealthCheckResponse_SERVING {
		return failed(r.Options.Server+" says "+s.String(), "read the server's log: its store cannot be used, or it is stopping")
	}
	return ok("%s is serving", r.Options.Server)
}

// checkCredential asks what every role may ask.
func checkCredential(ctx context.Context, r *terminal.Run, server *client.Client) finding {
	_, err := server.Work.ListJobs(ctx, &memoryv1.ListJobsRequest{PageSize: 1})
	if status.Code(err) == codes.Unauthenticated {
		return failed("the server lets nobody in with what was given", r.KeyHint())
	}
	return ok("the server lets the caller in")
}

// checkAPI compares the server's service with the one this program was built for.
func checkAPI(ctx context.Context, r *terminal.Run, server *client.Client) finding {
	theirs, err := serverFile(ctx, server, "memory.v1.MemoryService")
	if err != nil {
		return warn("the server's version cannot be compared: "+terminal.FaultText(err), "turn its setting reflection on")
	}
	ours := protodesc.ToFileDescriptorProto(memoryv1.File_memory_v1_memory_service_proto)
	ours.SourceCodeInfo, theirs.SourceCodeInfo = nil, nil
	if !proto.Equal(ours, theirs) {
		return warn("server and this program are of different versions", "install the same version on both sides; this is "+r.Env.ProgramVersion())
	}
	return ok("server and this program speak the same version of memory.v1")
}

// serverFile asks by reflection for the proto file that declares a symbol.
func serverFile(ctx context.Context, server *client.Client, symbol string) (*descriptorpb.FileDescriptorProto, error) {
	stream, err := reflectionv1.NewServerReflectionClient(server.Conn()).ServerReflectionInfo(ctx)
	if err != nil {
		return nil, err
	}
	defer stream.CloseSend() //nolint:errcheck // the one question has been answered by then
	err = stream.Send(&reflectionv1.ServerReflectionRequest{
		MessageRequest: &reflectionv1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: symbol},
	})
	if err != nil {
		return nil, err
	}
	reply, err := stream.Recv()
	if err != nil {
		return nil, err
	}
	for _, raw := range reply.GetFileDescriptorResponse().GetFileDescriptorProto() {
		file := &descriptorpb.FileDescriptorProto{}
		if proto.Unmarshal(raw, file) == nil && file.GetPackage() == "memory.v1" && len(file.GetService()) > 0 {
			return file, nil
		}
	}
	return nil, fmt.Errorf("it does not know %s", symbol)
}

// maxSkew is how far apart the clocks may be before recency and "as of" surprise people.
const maxSkew = 5 * time.Second

// checkClock compares the clocks: the context of a user that does not exist is empty and carries the server's time.
func checkClock(ctx context.Context, r *terminal.Run, server *client.Client) finding {
	before := r.Env.Now()
	reply, err := server.Memory.BuildContext(ctx, &memoryv1.BuildContextRequest{UserId: "strata doctor", SessionId: "strata doctor"})
	if code := status.Code(err); code == codes.PermissionDenied || code == codes.NotFound {
		return ok("not compared: the key may not build a context of whom it likes")
	}
	if err != nil {
		return failed("the server cannot build a context: "+terminal.FaultText(err), "read the server's log")
	}
	took := r.Env.Now().Sub(before)
	skew := reply.GetAsOf().AsTime().Sub(before.Add(took / 2)).Round(time.Millisecond)
	if skew.Abs() > maxSkew+took {
		return warn(fmt.Sprintf("the server's clock is %s from this one's", skew), "synchronise both by NTP")
	}
	return ok("the server's clock agrees; an empty context took %s", took.Round(100*time.Microsecond))
}

// isLocal reports whether the server runs on this machine, so that a disk and a metrics port here may be its. Which file it
// has open it does not say: what is checked is the directory that the configuration here names.
func isLocal(server string) bool {
	host, _, err := net.SplitHostPort(strings.TrimPrefix(server, "https://"))
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

func checkDirectory(cfg config.Loaded) finding {
	dir := filepath.Dir(absolute(cfg.Data))
	probe, err := os.CreateTemp(dir, ".strata-doctor-*")
	if err != nil {
		return failed(err.Error(), "create "+dir+" and let the server write there, or set data")
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return warn(err.Error(), "remove the file by hand")
	}
	return ok("%s can be written; it is where the data file of the configuration here is", dir)
}

// minFree is the least free space before the doctor warns; below a tenth of it, it fails.
const minFree = 1 << 30

func checkDisk(cfg config.Loaded) finding {
	dir := filepath.Dir(absolute(cfg.Data))
	free, err := diskspace.Free(dir)
	if err != nil {
		return warn(err.Error(), "look at the disk by hand")
	}
	text := fmt.Sprintf("%.1f GiB free in %s", float64(free)/(1<<30), dir)
	switch {
	case free < minFree/10:
		return failed(text, "make room: writes will soon be refused")
	case free < minFree:
		return warn(text, "make room before it is full: writes are then refused")
	}
	return ok("%s", text)
}

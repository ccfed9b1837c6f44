package grpcserver

import (
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"google.golang.org/grpc"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/stratamem/strata/internal/edge/admission"
)

func TestAServerThatIsStoppedBeforeItServesEndsWithoutAnError(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]func(Entrance) (http.Handler, error){
		"gRPC alone": nil,
		"with HTTP":  func(Entrance) (http.Handler, error) { return http.NotFoundHandler(), nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gate := admission.New(admission.Options{Heavy: 1, Memory: 64 << 20, Wait: time.Second})
			s, err := New(Options{
				API: API{Register: func(grpc.ServiceRegistrar) {}, Calls: openCalls}, Log: slog.New(slog.DiscardHandler), RequestTimeout: time.Second,
				Admission: Admission{Gate: gate}, Port: Port{MaxConnections: 1, ReplyTimeout: time.Second}, HTTP: handler,
			})
			if err != nil {
				t.Fatal(err)
			}
			l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			s.shutdown()
			if err := s.serve(newConnections(l, s.conns, s.gate, s.log)); err != nil {
				t.Error(err)
			}
		})
	}
}

// openCalls are the rows of what every server has.
var openCalls = map[string]Rule{
	healthv1.Health_Check_FullMethodName: {Open, nil, Never},
	healthv1.Health_List_FullMethodName:  {Open, nil, Never},
	healthv1.Health_Watch_FullMethodName: {Open, nil, Never},
}

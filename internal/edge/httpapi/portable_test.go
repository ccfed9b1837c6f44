package httpapi

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
)

func TestTheCallOfAUsersFileHasTheCallersDeadline(t *testing.T) {
	for path, method := range map[string]string{"/v1/users/ada/export": http.MethodGet, importPath: http.MethodPost} {
		for seconds, most := range map[string]int{"": -1, "2.5": 2500, "0": 0, "-3": 0, "1e300": 24 * 3600 * 1000} {
			var got string
			o := Options{GRPC: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				got = r.Header.Get("Grpc-Timeout")
				w.Header().Set("Grpc-Status", "0")
			})}
			r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(""))
			r.Header.Set(timeoutHeader, seconds)
			files(o, nil).ServeHTTP(httptest.NewRecorder(), r)
			left, err := strconv.Atoi(strings.TrimSuffix(got, "m"))
			if most < 0 && got != "" || most >= 0 && (err != nil || left < 0 || left > most) {
				t.Errorf("%s with %q: grpc-timeout %q", path, seconds, got)
			}
		}
	}
}

func TestAFileThatIsLateIsNotSaidToBeCancelled(t *testing.T) {
	header := http.Header{"Grpc-Status": {strconv.Itoa(int(codes.Canceled))}, "Grpc-Message": {"context canceled"}}
	for until, want := range map[time.Time]int{time.Unix(1, 0): http.StatusGatewayTimeout, {}: 499} {
		w := httptest.NewRecorder()
		(&pieces{to: w, header: header, until: until}).end()
		if late := strings.Contains(w.Body.String(), timeoutHeader); w.Code != want || late != !until.IsZero() {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
}

package org.pocketqa.app;

import android.content.Intent;
import android.os.Bundle;
import android.view.View;
import android.view.WindowManager;

/** Screen that times the model in use and shares the results. Shows Benchmarks. */
public final class BenchmarkActivity extends Screen {
    @Override
    protected void onCreate(Bundle saved) {
        super.onCreate(saved);
        showScrolling(R.layout.benchmark);
        showBack();
        findViewById(R.id.benchmark_start).setOnClickListener(view -> app().benchmarks.start());
        findViewById(R.id.benchmark_cancel).setOnClickListener(view -> app().engine.cancel());
        findViewById(R.id.benchmark_share).setOnClickListener(view -> share());
    }

    @Override
    Listeners[] sources() {
        return new Listeners[] {app().engine.listeners, app().workspace.listeners}; // the latter tell of the texts to time
    }

    @Override
    protected void onStop() {
        if (!isChangingConfigurations() && app().benchmarks.job() != null) {
            app().engine.cancel(); // the system slows down or stops an app in the background, so its times would be wrong
        }
        super.onStop();
    }

    @Override
    public void changed() {
        Benchmarks benchmarks = app().benchmarks;
        AskJob job = benchmarks.job();
        Benchmarks.Measured measured = benchmarks.measured();
        keepScreenOn(job != null);
        findViewById(R.id.benchmark_start).setEnabled(benchmarks.canStart());
        Screen.setVisible(findViewById(R.id.benchmark_cancel), job != null);
        Screen.setVisible(findViewById(R.id.benchmark_share), measured != null);
        // A screen reader announces why a benchmark failed, but not each run.
        text(R.id.benchmark_status)
                .setAccessibilityLiveRegion(job == null ? View.ACCESSIBILITY_LIVE_REGION_POLITE : View.ACCESSIBILITY_LIVE_REGION_NONE);
        Screen.setText(text(R.id.benchmark_status), status(job, benchmarks.notice()));
        Screen.setText(text(R.id.benchmark_figures), measured == null ? "" : BenchmarkText.of(getResources(), measured));
    }

    // A dark screen slows the processor down.
    private void keepScreenOn(boolean on) {
        int flag = WindowManager.LayoutParams.FLAG_KEEP_SCREEN_ON;
        getWindow().setFlags(on ? flag : 0, flag);
    }

    private String status(AskJob job, String notice) {
        if (job != null) {
            return getString(R.string.benchmark_progress, job.windowsDone(), job.windows());
        }
        boolean none = app().engine.state().phase == EngineState.Phase.NO_MODEL;
        return notice != null ? notice : none ? getString(R.string.notice_no_model) : "";
    }

    private void share() {
        String json = app().benchmarks.measured().json(PhoneFacts.version(this), getString(R.string.litert_version), PhoneFacts.phone());
        Intent send = new Intent(Intent.ACTION_SEND).setType("text/plain").putExtra(Intent.EXTRA_TEXT, json);
        startActivity(Intent.createChooser(send, getString(R.string.share)));
    }
}
